"""It has a hook that only a newer contract has.

step: resolve
says: defines a hook that does not fit the contract
targets: broken
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "newer_hook"

    @hookimpl
    def tilecore_tuning(self):
        return {}


plugin = Broken()
