"""build returns the wrong thing when it is called.

step: build
says: Toolchain.build returned a wrong value
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_build"

    def build(self, request):
        return request.source


plugin = Broken()
