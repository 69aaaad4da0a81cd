"""tilecore_codegen returns the wrong thing.

step: resolve
says: tilecore_codegen must return a Codegen
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "nonsense_from_codegen"

    @hookimpl
    def tilecore_codegen(self):
        return {"function": "f"}


plugin = Broken()
