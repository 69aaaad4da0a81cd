"""Lowering.stand_in raises when it is called.

step: stand_in
says: Lowering.stand_in raised ZeroDivisionError:
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_stand_in"

    def stand_in(self, target):
        return 1 // 0


plugin = Broken()
