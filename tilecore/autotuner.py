"""The autotuner's public names."""

from tilecore.autotune import (
    AutotunedKernel,
    AutoTuner,
    AutotuneResult,
    AutotuneWarning,
    KnownConfig,
    KnownConfigs,
    autotune,
    get_autotune_inputs,
    set_autotune_inputs,
)

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
