"""A launch that takes the device, and does not say so.

step: load
says: plain.load returned a LoadedKernel with a wrong launch
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def launch(self, slots, grids, device, stream):
        return 0


class Broken(Healthy):
    kind = "adapter_wrong_launch_arguments"
    adapter = BrokenAdapter


plugin = Broken()
