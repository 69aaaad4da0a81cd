"""Integer helpers for kernels' sizes."""

from tilecore.language.integers import cdiv, next_power_of_2

__all__ = ["cdiv", "next_power_of_2"]
