"""install raises when it is called.

step: install
says: Installable.install raised RuntimeError: boom
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_install"

    def install(self, request):
        raise RuntimeError("boom")


plugin = Broken()
