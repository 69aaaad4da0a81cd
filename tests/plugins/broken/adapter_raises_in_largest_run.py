"""The adapter raises in largest_run.

step: largest_run
says: plain.largest_run raised RuntimeError: boom
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def largest_run(self):
        raise RuntimeError("boom")


class Broken(Healthy):
    kind = "adapter_raises_in_largest_run"
    adapter = BrokenAdapter


plugin = Broken()
