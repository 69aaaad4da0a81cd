"""A record gets a field that only a newer contract has.

step: resolve
says: tilecore_target raised TypeError: TargetSpec.__init__() got an unexpected keyword argument 'colour'
targets: broken
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import TargetSpec


class Broken(Healthy):
    kind = "unknown_field"

    @hookimpl
    def tilecore_target(self):
        return TargetSpec(self.kind, "newer", self.capabilities, self.detect, colour="red")


plugin = Broken()
