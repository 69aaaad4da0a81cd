"""Written for a contract that tilecore no longer speaks.

step: resolve
says: it speaks version -1 of the backend contract
targets: broken
"""

from dataclasses import replace

from tile_healthy import Healthy

from tilecore.plugins.hookspecs import hookimpl


class Broken(Healthy):
    kind = "contract_older"

    @hookimpl
    def tilecore_target(self):
        return replace(super().tilecore_target(), contract=-1)


plugin = Broken()
