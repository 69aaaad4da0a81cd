"""tilecore_target returns the wrong thing.

step: resolve
says: tilecore_target must return a TargetSpec
targets: broken
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "nonsense_from_target"

    @hookimpl
    def tilecore_target(self):
        return None


plugin = Broken()
