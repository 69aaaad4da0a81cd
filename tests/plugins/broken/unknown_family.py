"""A family of passes that there is not.

step: lowering
says: tilecore_lowering: field 'family' of Lowering is wrong
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Lowering


class Broken(Healthy):
    kind = "unknown_family"

    @hookimpl
    def tilecore_lowering(self):
        return Lowering("quantum", self.stand_in)


plugin = Broken()
