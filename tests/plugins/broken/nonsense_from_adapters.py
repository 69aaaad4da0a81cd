"""tilecore_adapters returns the wrong thing.

step: resolve
says: tilecore_adapters returned an object that is not an adapter
"""

from tile_healthy import Healthy, HealthyAdapter

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "nonsense_from_adapters"

    @hookimpl
    def tilecore_adapters(self):
        return [HealthyAdapter]


plugin = Broken()
