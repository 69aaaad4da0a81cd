"""TargetSpec.resolve raises when it is called.

step: resolve
says: TargetSpec.resolve raised ZeroDivisionError:
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_resolve"

    def resolve(self, target):
        return 1 // 0


plugin = Broken()
