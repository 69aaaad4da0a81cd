"""The adapter's stop watch raises in stop.

step: timer_stop
says: plain.timer().stop raised RuntimeError: boom
"""

from tile_healthy import Healthy, HealthyAdapter, HealthyTimer


class BrokenTimer(HealthyTimer):
    def stop(self):
        raise RuntimeError("boom")


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        return BrokenTimer()


class Broken(Healthy):
    kind = "adapter_raises_in_timer_stop"
    adapter = BrokenAdapter


plugin = Broken()
