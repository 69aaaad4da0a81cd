"""The adapter returns the wrong thing from load.

step: load
says: plain.load returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def load(self, artifact):
        return None


class Broken(Healthy):
    kind = "adapter_nonsense_from_load"
    adapter = BrokenAdapter


plugin = Broken()
