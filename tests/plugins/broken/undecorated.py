"""A hook lacks its decorator.

step: resolve
says: lacks a hook that every backend needs
targets: broken
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "undecorated"

    def tilecore_codegen(self):
        return None


plugin = Broken()
