"""Only one of the needed hooks is there.

step: resolve
says: lacks a hook that every backend needs
targets: broken
"""

from tilecore.contract.hookspecs import hookimpl


class Broken:
    @hookimpl
    def tilecore_target(self):
        return None


plugin = Broken()
