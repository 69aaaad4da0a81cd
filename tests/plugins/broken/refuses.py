"""tilecore's own errors are the backend's answer to the user, not a fault: they pass as they are.

step: build
says: this compiler cannot do that
"""

from tile_healthy import Healthy

from tilecore.errors import ToolchainError


class Broken(Healthy):
    kind = "refuses"

    def build(self, request):
        raise ToolchainError("this compiler cannot do that")


plugin = Broken()
