"""A loaded kernel whose sizes are a list.

step: load
says: plain.load returned a wrong value: field 'sizes' of LoadedKernel is wrong
"""

from dataclasses import replace

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def load(self, artifact):
        return replace(super().load(artifact), sizes=[16])


class Broken(Healthy):
    kind = "adapter_wrong_sizes"
    adapter = BrokenAdapter


plugin = Broken()
