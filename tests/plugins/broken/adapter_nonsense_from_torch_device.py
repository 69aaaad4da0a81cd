"""The adapter returns the wrong thing from torch_device.

step: torch_device
says: plain.torch_device returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def torch_device(self, device_index=0):
        return device_index


class Broken(Healthy):
    kind = "adapter_nonsense_from_torch_device"
    adapter = BrokenAdapter


plugin = Broken()
