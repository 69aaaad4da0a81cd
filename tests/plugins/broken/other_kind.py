"""The entry point and the hook disagree about the kind.

step: resolve
says: its entry point and its tilecore_target name different kinds
targets: broken
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "another_kind"


plugin = Broken()
