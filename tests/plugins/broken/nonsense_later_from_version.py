"""version returns the wrong thing when it is called.

step: version
says: Toolchain.version returned a wrong value
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_version"

    def version(self, target):
        return (1, 2)


plugin = Broken()
