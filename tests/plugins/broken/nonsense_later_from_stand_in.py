"""stand_in returns the wrong thing when it is called.

step: stand_in
says: Lowering.stand_in returned a wrong value
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_stand_in"

    def stand_in(self, target):
        return "c"


plugin = Broken()
