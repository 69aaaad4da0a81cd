"""A launch wants to know a size that the kernel does not have.

step: load
says: plain.load returned a LoadedKernel with sizes of unknown symbols
"""

from dataclasses import replace

from tile_healthy import Healthy, HealthyAdapter

from tilecore.artifact.dims import DimExpr


class BrokenAdapter(HealthyAdapter):
    def load(self, artifact):
        return replace(super().load(artifact), sizes=(DimExpr("rows"),))


class Broken(Healthy):
    kind = "adapter_unknown_size"
    adapter = BrokenAdapter


plugin = Broken()
