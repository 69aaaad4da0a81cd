"""The keys of the pass configuration that the toolchain of tile-hip reads."""

from __future__ import annotations

from tilecore.contract.records import PassOption

FAST_MATH = PassOption(
    "tl.enable_fast_math", "quick forms of functions, divisions and square roots; subnormal numbers count as 0"
)
OPTIONS = (FAST_MATH,)
