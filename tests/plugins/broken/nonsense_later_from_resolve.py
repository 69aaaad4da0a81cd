"""resolve returns the wrong thing when it is called.

step: resolve
says: TargetSpec.resolve returned the wrong target
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "nonsense_later_from_resolve"

    def resolve(self, target):
        return target.with_attributes(surprise=1)


plugin = Broken()
