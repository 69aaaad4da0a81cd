"""The adapter returns the wrong thing from largest_run.

step: largest_run
says: plain.largest_run returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def largest_run(self):
        return "many"


class Broken(Healthy):
    kind = "adapter_nonsense_from_largest_run"
    adapter = BrokenAdapter


plugin = Broken()
