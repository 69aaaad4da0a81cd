"""TargetSpec.capabilities raises when it is called.

step: capabilities
says: TargetSpec.capabilities raised ZeroDivisionError:
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_capabilities"

    def capabilities(self, target):
        return 1 // 0


plugin = Broken()
