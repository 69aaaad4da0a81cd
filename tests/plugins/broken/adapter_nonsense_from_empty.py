"""The adapter returns the wrong thing from empty.

step: empty
says: plain.empty returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def empty(self, shape, dtype, device_index=0):
        return None


class Broken(Healthy):
    kind = "adapter_nonsense_from_empty"
    adapter = BrokenAdapter


plugin = Broken()
