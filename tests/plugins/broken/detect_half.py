"""detect leaves the details out.

step: detect
says: TargetSpec.detect returned a wrong value: field 'detail' of Presence is wrong
targets: broken
"""

from tile_healthy import Healthy

from tilecore.contract.records import Presence


class Broken(Healthy):
    kind = "detect_half"

    def detect(self):
        return Presence(False, None)


plugin = Broken()
