"""find does not say where it looked.

step: find
says: Toolchain.find returned a wrong value: field 'where' of Found is wrong
"""

from tile_healthy import Healthy

from tilecore.contract.records import Found


class Broken(Healthy):
    kind = "found_half"

    def find(self):
        return [Found("compiler", False, None)]


plugin = Broken()
