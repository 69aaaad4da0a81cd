"""The tile sizes of matrix instructions."""

from __future__ import annotations

from typing import Any

from tile_cuda.modules.intrinsics.layout.mma_layout import get_swizzle_layout, make_mma_swizzle_layout
from tilecore.dtypes import dtype as DType

__all__ = ["get_mma_micro_size", "get_swizzle_layout", "make_mma_swizzle_layout"]

_STEP_BYTES = 32  # of K in one mma instruction (PTX ISA, "mma": m16n8k16 of 16 bits, m16n8k32 of 8, m16n8k8 of 32)


def get_mma_micro_size(dtype: Any) -> tuple[int, int, int]:
    """(M, N, K) of the tile that a warp multiplies at once: 16 x 16, in two instructions, and 32 bytes of K."""
    return 16, 16, _STEP_BYTES * 8 // DType(dtype).bits
