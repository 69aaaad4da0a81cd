"""A hook has a name that the contract does not know.

step: resolve
says: defines a hook that does not fit the contract
targets: broken
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "misspelt_hook"

    @hookimpl
    def tilecore_adaptors(self):
        return super().tilecore_adapters()


plugin = Broken()
