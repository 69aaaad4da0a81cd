"""A family of passes that there is not.

step: lowering
says: tilecore_lowering: field 'family' of Lowering is wrong
"""

from tile_healthy import Healthy

from tilecore.plugins.backend import Lowering
from tilecore.plugins.hookspecs import hookimpl


class Broken(Healthy):
    kind = "unknown_family"

    @hookimpl
    def tilecore_lowering(self):
        return Lowering("quantum", self.stand_in)


plugin = Broken()
