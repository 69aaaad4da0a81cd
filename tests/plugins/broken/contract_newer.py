"""Written for a contract that this tilecore does not know.

step: resolve
says: it speaks version 99 of the backend contract
targets: broken
"""

from dataclasses import replace

from tile_healthy import Healthy

from tilecore.plugins.hookspecs import hookimpl


class Broken(Healthy):
    kind = "contract_newer"

    @hookimpl
    def tilecore_target(self):
        return replace(super().tilecore_target(), contract=99)


plugin = Broken()
