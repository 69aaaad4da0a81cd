"""The adapter raises in capture.

step: capture
says: plain.capture raised OSError: the device is gone
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def capture(self, device_index, stream):
        raise OSError("the device is gone")


class Broken(Healthy):
    kind = "adapter_raises_in_capture"
    adapter = BrokenAdapter


plugin = Broken()
