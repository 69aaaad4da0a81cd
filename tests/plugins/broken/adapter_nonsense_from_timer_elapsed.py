"""The adapter's stop watch has no time.

step: timer_elapsed
says: plain.timer().elapsed returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter, HealthyTimer


class BrokenTimer(HealthyTimer):
    def elapsed(self):
        return float("nan")


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        return BrokenTimer()


class Broken(Healthy):
    kind = "adapter_nonsense_from_timer_elapsed"
    adapter = BrokenAdapter


plugin = Broken()
