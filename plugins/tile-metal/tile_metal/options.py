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
MATMUL2D = PassOption(
    "metal.matmul2d",
    "T.gemm by matmul2d, the matrix unit of apple10: for -family=apple10 -msl=4.0, macOS 26.2 or later",
)
OPTIONS = (FAST_MATH, DISABLE_DIRECT_OPERANDS, MATMUL2D)
