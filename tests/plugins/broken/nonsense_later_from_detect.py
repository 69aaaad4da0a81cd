"""detect returns the wrong thing when it is called.

step: detect
says: TargetSpec.detect returned a wrong value
targets: broken
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_detect"

    def detect(self):
        return True


plugin = Broken()
