"""Written for the previous contract, which still works.

step: none
"""

from dataclasses import replace

from tile_healthy import Healthy

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import CONTRACT_VERSION


class Broken(Healthy):
    kind = "contract_previous"

    @hookimpl
    def tilecore_target(self):
        return replace(super().tilecore_target(), contract=CONTRACT_VERSION - 1)


plugin = Broken()
