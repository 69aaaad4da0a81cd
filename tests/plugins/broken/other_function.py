"""The code generator has a name that could be another backend's.

step: resolve
says: tilecore_codegen: field 'function' of Codegen is wrong
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Codegen


class Broken(Healthy):
    kind = "other_function"

    @hookimpl
    def tilecore_codegen(self):
        return Codegen("target.build.c", "c", self.register)


plugin = Broken()
