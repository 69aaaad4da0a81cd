"""The adapter raises in timer.

step: timer
says: plain.timer raised RuntimeError: boom
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        raise RuntimeError("boom")


class Broken(Healthy):
    kind = "adapter_raises_in_timer"
    adapter = BrokenAdapter


plugin = Broken()
