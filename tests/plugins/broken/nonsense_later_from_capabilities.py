"""capabilities returns the wrong thing when it is called.

step: capabilities
says: TargetSpec.capabilities returned a wrong value
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_capabilities"

    def capabilities(self, target):
        return {"float32"}


plugin = Broken()
