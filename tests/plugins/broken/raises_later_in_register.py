"""Codegen.register raises when it is called.

step: register
says: Codegen.register raised ZeroDivisionError:
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_register"

    def register(self):
        return 1 // 0


plugin = Broken()
