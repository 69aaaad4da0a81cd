"""The adapter returns the wrong thing from binary_formats.

step: resolve
says: plain.binary_formats returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def binary_formats(self):
        return "text"


class Broken(Healthy):
    kind = "adapter_nonsense_from_binary_formats"
    adapter = BrokenAdapter


plugin = Broken()
