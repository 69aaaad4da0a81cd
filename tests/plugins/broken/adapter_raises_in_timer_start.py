"""The adapter's stop watch raises in start.

step: timer_start
says: plain.timer().start raised RuntimeError: boom
"""

from tile_healthy import Healthy, HealthyAdapter, HealthyTimer


class BrokenTimer(HealthyTimer):
    def start(self):
        raise RuntimeError("boom")


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        return BrokenTimer()


class Broken(Healthy):
    kind = "adapter_raises_in_timer_start"
    adapter = BrokenAdapter


plugin = Broken()
