"""The adapter raises in load.

step: load
says: plain.load raised OSError: the device is gone
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def load(self, artifact):
        raise OSError("the device is gone")


class Broken(Healthy):
    kind = "adapter_raises_in_load"
    adapter = BrokenAdapter


plugin = Broken()
