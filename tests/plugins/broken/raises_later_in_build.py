"""Toolchain.build raises when it is called.

step: build
says: Toolchain.build raised ZeroDivisionError:
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_build"

    def build(self, request):
        return 1 // 0


plugin = Broken()
