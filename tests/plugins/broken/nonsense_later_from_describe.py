"""describe returns the wrong thing when it is called.

step: describe
says: Toolchain.describe returned a wrong value
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_describe"

    def describe(self, binary):
        return {"k": 168}


plugin = Broken()
