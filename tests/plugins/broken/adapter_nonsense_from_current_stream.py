"""The adapter returns the wrong thing from current_stream.

step: current_stream
says: plain.current_stream returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def current_stream(self, device_index):
        return None


class Broken(Healthy):
    kind = "adapter_nonsense_from_current_stream"
    adapter = BrokenAdapter


plugin = Broken()
