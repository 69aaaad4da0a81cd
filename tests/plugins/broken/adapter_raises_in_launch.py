"""The adapter raises in launch.

step: launch
says: plain.load().launch raised OSError: the device is gone
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def launch(self, slots, grids, stream):
        raise OSError("the device is gone")


class Broken(Healthy):
    kind = "adapter_raises_in_launch"
    adapter = BrokenAdapter


plugin = Broken()
