"""A function of a record wants more arguments than it gets.

step: resolve
says: tilecore_toolchain: field 'build' of Toolchain is wrong
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "wrong_arity"

    def build(self, request, flags):
        return b"", "text"


plugin = Broken()
