"""tilecore_toolchain returns the wrong thing.

step: resolve
says: tilecore_toolchain must return a Toolchain
"""

from tile_healthy import Healthy

from tilecore.plugins.backend import Toolchain
from tilecore.plugins.hookspecs import hookimpl


class Broken(Healthy):
    kind = "nonsense_from_toolchain"

    @hookimpl
    def tilecore_toolchain(self):
        return Toolchain


plugin = Broken()
