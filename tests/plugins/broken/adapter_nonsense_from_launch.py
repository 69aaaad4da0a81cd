"""The adapter's launch returns the wrong thing.

step: launch
says: plain.load().launch returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def launch(self, slots, grids, stream):
        return "done"


class Broken(Healthy):
    kind = "adapter_nonsense_from_launch"
    adapter = BrokenAdapter


plugin = Broken()
