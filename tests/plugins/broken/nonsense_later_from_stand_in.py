"""stand_in returns the wrong thing when it is called.

step: stand_in
says: Lowering.stand_in returned the wrong thing
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_stand_in"

    def stand_in(self, target):
        return "c"


plugin = Broken()
