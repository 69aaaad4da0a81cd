"""The adapter returns the wrong thing from error.

step: error
says: plain.load().error returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def describe(self, code):
        return None


class Broken(Healthy):
    kind = "adapter_nonsense_from_error"
    adapter = BrokenAdapter


plugin = Broken()
