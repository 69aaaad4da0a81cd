"""``tilecore.cuda.intrinsics.sparse_layout``: how the places of a matrix of 2:4 sparsity are stored (T.gemm_sp)."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType

__all__ = ["GROUP_CONFIG", "get_e_factor", "get_e_replicate_factor"]

FIELD = 4  # bits of a group's places
_FOUR = "float16 bfloat16 int8 uint8 float8_e4m3fn float8_e5m2".split()
# (elements that are kept, elements) of a group, by the element type
GROUP_CONFIG: dict[DType, tuple[int, int]] = {DType("float32"): (1, 2), **{DType(name): (2, 4) for name in _FOUR}}


def get_e_factor(a_dtype: Any, meta_dtype: Any) -> int:
    """How many elements along K one word of ``meta_dtype`` describes."""
    return DType(meta_dtype).bits // FIELD * GROUP_CONFIG[DType(a_dtype)][1]


def get_e_replicate_factor(a_dtype: Any) -> int:
    """How many neighbouring threads of a matrix instruction hold the same word (PTX ISA, "mma.sp": selector)."""
    return 1 if DType(a_dtype).bits <= 8 else 2
