"""A record whose fields are not all right.

step: resolve
says: tilecore_target: field 'detect' of TargetSpec is wrong
targets: broken
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import TargetSpec


class Broken(Healthy):
    kind = "half_target"

    @hookimpl
    def tilecore_target(self):
        return TargetSpec(self.kind, "half", self.capabilities, detect=None)


plugin = Broken()
