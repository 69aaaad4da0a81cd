"""Two adapters have one name.

step: resolve
says: tilecore_adapters returned two adapters named 'plain'
"""

from tile_healthy import Healthy, HealthyAdapter

from tilecore.contract.hookspecs import hookimpl


class Broken(Healthy):
    kind = "same_adapter_twice"

    @hookimpl
    def tilecore_adapters(self):
        return [HealthyAdapter(), HealthyAdapter()]


plugin = Broken()
