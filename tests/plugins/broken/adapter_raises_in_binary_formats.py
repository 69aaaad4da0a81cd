"""The adapter raises in binary_formats.

step: resolve
says: plain.binary_formats raised RuntimeError: boom
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def binary_formats(self):
        raise RuntimeError("boom")


class Broken(Healthy):
    kind = "adapter_raises_in_binary_formats"
    adapter = BrokenAdapter


plugin = Broken()
