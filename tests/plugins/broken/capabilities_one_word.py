"""capabilities holds a text where a set of names belongs.

step: capabilities
says: TargetSpec.capabilities returned a wrong value: field 'dtypes' of Capabilities is wrong
"""

from dataclasses import replace

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "capabilities_one_word"

    def capabilities(self, target):
        return replace(super().capabilities(target), dtypes="float32")


plugin = Broken()
