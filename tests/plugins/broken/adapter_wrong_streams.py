"""An adapter does not say whether its streams are the tensors' library's.

step: resolve
says: tilecore_adapters: field 'tensor_streams' of BrokenAdapter is wrong
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    tensor_streams = "torch"


class Broken(Healthy):
    kind = "adapter_wrong_streams"
    adapter = BrokenAdapter


plugin = Broken()
