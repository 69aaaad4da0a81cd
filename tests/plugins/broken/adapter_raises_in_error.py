"""The adapter raises in error.

step: error
says: plain.load().error raised OSError: the device is gone
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def describe(self, code):
        raise OSError("the device is gone")


class Broken(Healthy):
    kind = "adapter_raises_in_error"
    adapter = BrokenAdapter


plugin = Broken()
