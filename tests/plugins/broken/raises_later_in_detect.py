"""TargetSpec.detect raises when it is called.

step: detect
says: TargetSpec.detect raised ZeroDivisionError:
targets: broken
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_detect"

    def detect(self):
        return 1 // 0


plugin = Broken()
