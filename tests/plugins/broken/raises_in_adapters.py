"""tilecore_adapters raises.

step: resolve
says: tilecore_adapters raised RuntimeError: out of adapters
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "raises_in_adapters"

    @hookimpl
    def tilecore_adapters(self):
        raise RuntimeError("out of adapters")


plugin = Broken()
