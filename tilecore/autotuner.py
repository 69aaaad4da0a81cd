"""The autotuner's public names."""

from tilecore.autotune.decorator import AutotunedKernel, autotune
from tilecore.autotune.inputs import get_autotune_inputs, set_autotune_inputs
from tilecore.autotune.judges import AutotuneWarning
from tilecore.autotune.known import KnownConfig, KnownConfigs
from tilecore.autotune.result import AutotuneResult
from tilecore.autotune.tuner import AutoTuner

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
