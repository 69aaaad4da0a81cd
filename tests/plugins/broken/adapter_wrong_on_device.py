"""A loaded kernel that does not say whether it takes the device.

step: load
says: plain.load returned a wrong value: field 'on_device' of LoadedKernel is wrong
"""

from dataclasses import replace

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def load(self, artifact):
        return replace(super().load(artifact), on_device=1)


class Broken(Healthy):
    kind = "adapter_wrong_on_device"
    adapter = BrokenAdapter


plugin = Broken()
