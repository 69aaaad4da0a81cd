"""The adapter raises in current_stream.

step: current_stream
says: plain.current_stream raised OSError: the device is gone
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def current_stream(self, device_index):
        raise OSError("the device is gone")


class Broken(Healthy):
    kind = "adapter_raises_in_current_stream"
    adapter = BrokenAdapter


plugin = Broken()
