"""The adapter raises in empty.

step: empty
says: plain.empty raised RuntimeError: boom
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def empty(self, shape, dtype, device_index=0):
        raise RuntimeError("boom")


class Broken(Healthy):
    kind = "adapter_raises_in_empty"
    adapter = BrokenAdapter


plugin = Broken()
