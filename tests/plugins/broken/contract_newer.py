"""Written for a contract that this tilecore does not know.

step: resolve
says: of the backend contract, which this tilecore does not
targets: broken
"""

from dataclasses import replace

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import CONTRACT_VERSION


class Broken(Healthy):
    kind = "contract_newer"

    @hookimpl
    def tilecore_target(self):
        return replace(super().tilecore_target(), contract=CONTRACT_VERSION + 1)


plugin = Broken()
