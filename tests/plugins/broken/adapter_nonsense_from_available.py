"""The adapter returns the wrong thing from available.

step: available
says: plain.available returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def available(self, target):
        return True


class Broken(Healthy):
    kind = "adapter_nonsense_from_available"
    adapter = BrokenAdapter


plugin = Broken()
