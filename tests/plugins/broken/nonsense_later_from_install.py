"""install returns the wrong thing when it is called.

step: install
says: Installable.install returned a wrong value
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_install"

    def install(self, request):
        return b"/there"


plugin = Broken()
