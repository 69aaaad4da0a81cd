"""A loaded kernel whose error is no function.

step: load
says: plain.load returned a wrong value: field 'error' of LoadedKernel is wrong
"""

from dataclasses import replace

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def load(self, artifact):
        return replace(super().load(artifact), error="failed")


class Broken(Healthy):
    kind = "adapter_wrong_words"
    adapter = BrokenAdapter


plugin = Broken()
