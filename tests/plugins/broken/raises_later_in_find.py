"""Toolchain.find raises when it is called.

step: find
says: Toolchain.find raised ZeroDivisionError:
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_find"

    def find(self):
        return 1 // 0


plugin = Broken()
