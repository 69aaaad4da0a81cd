"""installed raises when it is called.

step: installed
says: Installable.installed raised RuntimeError: boom
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_installed"

    def installed(self, folder):
        raise RuntimeError("boom")


plugin = Broken()
