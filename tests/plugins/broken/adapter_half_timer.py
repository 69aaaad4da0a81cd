"""The adapter's stop watch cannot be stopped.

step: timer
says: plain.timer returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter, HealthyTimer


class BrokenTimer(HealthyTimer):
    stop = None


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        return BrokenTimer()


class Broken(Healthy):
    kind = "adapter_half_timer"
    adapter = BrokenAdapter


plugin = Broken()
