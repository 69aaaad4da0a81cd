"""The adapter's stop watch raises in elapsed.

step: timer_elapsed
says: plain.timer().elapsed raised RuntimeError: boom
"""

from tile_healthy import Healthy, HealthyAdapter, HealthyTimer


class BrokenTimer(HealthyTimer):
    def elapsed(self):
        raise RuntimeError("boom")


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        return BrokenTimer()


class Broken(Healthy):
    kind = "adapter_raises_in_timer_elapsed"
    adapter = BrokenAdapter


plugin = Broken()
