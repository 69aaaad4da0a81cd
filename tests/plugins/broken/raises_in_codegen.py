"""tilecore_codegen raises.

step: resolve
says: tilecore_codegen raised RuntimeError: out of codegen
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "raises_in_codegen"

    @hookimpl
    def tilecore_codegen(self):
        raise RuntimeError("out of codegen")


plugin = Broken()
