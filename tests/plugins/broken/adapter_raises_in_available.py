"""The adapter raises in available.

step: available
says: plain.available raised OSError: the device is gone
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def available(self, target):
        raise OSError("the device is gone")


class Broken(Healthy):
    kind = "adapter_raises_in_available"
    adapter = BrokenAdapter


plugin = Broken()
