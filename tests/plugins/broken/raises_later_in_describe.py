"""describe raises when it is called.

step: describe
says: Toolchain.describe raised RuntimeError: boom
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_describe"

    def describe(self, binary):
        raise RuntimeError("boom")


plugin = Broken()
