"""An adapter's tensors are on a device that DLPack does not know.

step: resolve
says: tilecore_adapters: field 'device' of BrokenAdapter is wrong
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    device = "gpu"


class Broken(Healthy):
    kind = "adapter_wrong_device"
    adapter = BrokenAdapter


plugin = Broken()
