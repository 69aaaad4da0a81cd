"""Written for the previous contract, which still works.

step: none
"""

from dataclasses import replace

from tile_healthy import Healthy

from tilecore.plugins.backend import CONTRACT_VERSION
from tilecore.plugins.hookspecs import hookimpl


class Broken(Healthy):
    kind = "contract_previous"

    @hookimpl
    def tilecore_target(self):
        return replace(super().tilecore_target(), contract=CONTRACT_VERSION - 1)


plugin = Broken()
