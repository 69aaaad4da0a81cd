"""The autotuner's public names."""

from tilecore.autotune.decorator import AutotunedKernel, autotune
from tilecore.autotune.inputs import get_autotune_inputs, set_autotune_inputs
from tilecore.autotune.judges import AutotuneWarning
from tilecore.autotune.known import KnownConfig, KnownConfigs
from tilecore.autotune.result import AutotuneResult
from tilecore.autotune.tuner import AutoTuner
from tilecore.module_names.submodules import submodules_of

__path__: list[str] = []  # a package whose modules are names of others (tilecore/module_names/table.py)
__getattr__ = submodules_of(__name__)

__all__ = [
    "AutoTuner",
    "AutotuneResult",
    "AutotuneWarning",
    "AutotunedKernel",
    "KnownConfig",
    "KnownConfigs",
    "autotune",
    "get_autotune_inputs",
    "set_autotune_inputs",
]
