"""known_failures raises when it is called.

step: known_failures
says: TargetSpec.known_failures raised RuntimeError: boom
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "raises_later_in_known_failures"

    def known_failures(self, target):
        raise RuntimeError("boom")


plugin = Broken()
