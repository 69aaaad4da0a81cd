"""The adapter returns the wrong thing from capture.

step: capture
says: plain.capture returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def capture(self, device_index, stream):
        return None


class Broken(Healthy):
    kind = "adapter_nonsense_from_capture"
    adapter = BrokenAdapter


plugin = Broken()
