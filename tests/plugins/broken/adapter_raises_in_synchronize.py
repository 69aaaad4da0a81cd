"""The adapter raises in synchronize.

step: synchronize
says: plain.synchronize raised OSError: the device is gone
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def synchronize(self, device_index=0):
        raise OSError("the device is gone")


class Broken(Healthy):
    kind = "adapter_raises_in_synchronize"
    adapter = BrokenAdapter


plugin = Broken()
