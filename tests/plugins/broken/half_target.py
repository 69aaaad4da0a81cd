"""A record whose fields are not all right.

step: resolve
says: tilecore_target: field 'detect' of TargetSpec is wrong
targets: broken
"""

from tile_healthy import Healthy

from tilecore.plugins.backend import TargetSpec
from tilecore.plugins.hookspecs import hookimpl


class Broken(Healthy):
    kind = "half_target"

    @hookimpl
    def tilecore_target(self):
        return TargetSpec(self.kind, "half", self.capabilities, detect=None)


plugin = Broken()
