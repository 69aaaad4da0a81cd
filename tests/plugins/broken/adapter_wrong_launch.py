"""A loaded kernel that cannot be launched.

step: load
says: plain.load returned a LoadedKernel with a wrong launch
"""

from tile_healthy import Healthy, HealthyAdapter

from tilecore.contract.adapter import LoadedKernel


class BrokenAdapter(HealthyAdapter):
    def load(self, artifact):
        return LoadedKernel(launch=0x7F0000)


class Broken(Healthy):
    kind = "adapter_wrong_launch"
    adapter = BrokenAdapter


plugin = Broken()
