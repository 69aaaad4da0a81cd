"""The adapter raises in torch_device.

step: torch_device
says: plain.torch_device raised RuntimeError: boom
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def torch_device(self, device_index=0):
        raise RuntimeError("boom")


class Broken(Healthy):
    kind = "adapter_raises_in_torch_device"
    adapter = BrokenAdapter


plugin = Broken()
