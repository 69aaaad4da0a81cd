"""tilecore_toolchain raises.

step: resolve
says: tilecore_toolchain raised RuntimeError: out of toolchain
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "raises_in_toolchain"

    @hookimpl
    def tilecore_toolchain(self):
        raise RuntimeError("out of toolchain")


plugin = Broken()
