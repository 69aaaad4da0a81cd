"""The keys of the pass configuration that the passes and the toolchain of tile-metal read."""

from __future__ import annotations

from tilecore.contract.records import PassOption

FAST_MATH = PassOption(
    "tl.enable_fast_math",
    "Metal's fast functions and divisions; infinities and NaN stay as they are",
)
DISABLE_DIRECT_OPERANDS = PassOption(
    "metal.disable_direct_operands",
    "products read their operands from threadgroup memory on apple9 and later, too",
)
OPTIONS = (FAST_MATH, DISABLE_DIRECT_OPERANDS)
