"""A hook wants an argument that the contract does not give.

step: resolve
says: defines a hook that does not fit the contract
targets: broken
"""

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "wrong_signature"

    @hookimpl
    def tilecore_target(self, config):
        return super().tilecore_target()


plugin = Broken()
