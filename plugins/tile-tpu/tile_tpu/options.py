"""The pass configurations that tile-tpu's passes read."""

from __future__ import annotations

from tilecore.contract.records import PassOption

ALLOW_TF32 = PassOption("tl.allow_tf32", "multiply float32 as two bfloat16 parts instead of three")
DISABLE_BANK_AWARE_ALLOCATION = PassOption(
    "tl.disable_bank_aware_allocation", "place buffers that are used together without regard to banks of local memory"
)
FAST_MATH = PassOption(
    "tl.enable_fast_math", "keep the results of the units for NaN, infinities and the ends of ranges"
)
OPTIONS = (ALLOW_TF32, DISABLE_BANK_AWARE_ALLOCATION, FAST_MATH)
