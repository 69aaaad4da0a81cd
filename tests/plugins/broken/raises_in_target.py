"""tilecore_target raises.

step: resolve
says: tilecore_target raised RuntimeError: out of target
targets: broken
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "raises_in_target"

    @hookimpl
    def tilecore_target(self):
        raise RuntimeError("out of target")


plugin = Broken()
