"""The adapter returns the wrong thing from timer.

step: timer
says: plain.timer returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        return 1.5


class Broken(Healthy):
    kind = "adapter_nonsense_from_timer"
    adapter = BrokenAdapter


plugin = Broken()
