"""installed returns the wrong thing when it is called.

step: installed
says: Installable.installed returned a wrong value
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_installed"

    def installed(self, folder):
        return None


plugin = Broken()
