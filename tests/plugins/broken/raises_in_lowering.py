"""tilecore_lowering raises.

step: lowering
says: tilecore_lowering raised RuntimeError: out of lowering
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "raises_in_lowering"

    @hookimpl
    def tilecore_lowering(self):
        raise RuntimeError("out of lowering")


plugin = Broken()
