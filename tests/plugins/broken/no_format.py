"""build does not say of which format the binary is.

step: build
says: Toolchain.build returned a wrong value
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "no_format"

    def build(self, request):
        return b"binary", ""


plugin = Broken()
