"""find returns the wrong thing when it is called.

step: find
says: Toolchain.find returned a wrong value
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_find"

    def find(self):
        return ["compiler"]


plugin = Broken()
