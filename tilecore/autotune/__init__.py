"""Autotuning: the fastest right configuration of a kernel. The public names are in :mod:`tilecore.autotuner` too."""

from tilecore.autotune.decorator import AutotunedKernel, autotune
from tilecore.autotune.inputs import get_autotune_inputs, set_autotune_inputs
from tilecore.autotune.judges import AutotuneWarning
from tilecore.autotune.result import AutotuneResult
from tilecore.autotune.tuner import AutoTuner

__all__ = [
    "AutoTuner",
    "AutotuneResult",
    "AutotuneWarning",
    "AutotunedKernel",
    "autotune",
    "get_autotune_inputs",
    "set_autotune_inputs",
]
