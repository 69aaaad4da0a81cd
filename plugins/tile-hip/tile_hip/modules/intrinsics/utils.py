"""The tile sizes of matrix instructions."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType


def get_mma_micro_size(dtype: Any) -> tuple[int, int, int]:
    """(M, N, K) of the tile that a wave multiplies at once: 16 x 16, and 16 of K; 32 of K for types of 8 bits."""
    return 16, 16, 32 if DType(dtype).bits <= 8 else 16
