"""known_failures returns the wrong thing when it is called.

step: known_failures
says: TargetSpec.known_failures returned a wrong value
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_known_failures"

    def known_failures(self, target):
        return {"test_math.py::*": None}


plugin = Broken()
