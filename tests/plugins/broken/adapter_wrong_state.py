"""A loaded kernel whose state is no address.

step: load
says: plain.load returned a wrong value: field 'state' of LoadedKernel is wrong
"""

from dataclasses import replace

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def load(self, artifact):
        return replace(super().load(artifact), state="here")


class Broken(Healthy):
    kind = "adapter_wrong_state"
    adapter = BrokenAdapter


plugin = Broken()
