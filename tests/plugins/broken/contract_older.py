"""Written for a contract that tilecore no longer speaks.

step: resolve
says: of the backend contract, which this tilecore does not
targets: broken
"""

from dataclasses import replace

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import CONTRACT_VERSION


class Broken(Healthy):
    kind = "contract_older"

    @hookimpl
    def tilecore_target(self):
        return replace(super().tilecore_target(), contract=CONTRACT_VERSION - 2)


plugin = Broken()
