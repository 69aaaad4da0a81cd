"""Toolchain.version raises when it is called.

step: version
says: Toolchain.version raised ZeroDivisionError:
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_version"

    def version(self, target):
        return 1 // 0


plugin = Broken()
