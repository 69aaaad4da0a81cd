"""tilecore_lowering returns the wrong thing.

step: lowering
says: tilecore_lowering must return a Lowering
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "nonsense_from_lowering"

    @hookimpl
    def tilecore_lowering(self):
        return "simt"


plugin = Broken()
