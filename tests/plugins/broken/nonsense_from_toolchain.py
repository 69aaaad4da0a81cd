"""tilecore_toolchain returns the wrong thing.

step: resolve
says: tilecore_toolchain must return a Toolchain
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Toolchain


class Broken(Healthy):
    kind = "nonsense_from_toolchain"

    @hookimpl
    def tilecore_toolchain(self):
        return Toolchain


plugin = Broken()
