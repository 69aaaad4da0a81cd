"""Index maps of the operands of MFMA, and the swizzle of tiles in LDS.

The maps ``shared_RxC_to_local_64xE_layout_*`` give (lane, register) of the element at (i, j) of a tile, for a wave of
64 lanes, each of which holds E elements (CDNA 3 ISA, "Matrix Core operations"; AMD's matrix instruction calculator).
Operand A is indexed (m, k), B (k, n), but of 16x64 (n, k); C is indexed (n, m).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.language import Layout

_BANK_BITS = 32 * 32  # of all banks of LDS
_ROWS = 16  # that one instruction reads together
IndexMap = Callable[[Any, Any], tuple[Any, Any]]


def make_mfma_swizzle_layout(shared_buf: Any, vecSize: int = 8) -> Layout:
    """The layout of a tile [rows, columns] in LDS without bank conflicts: pieces of ``vecSize`` elements of a row are
    permuted by the number of its group of rows that fill all banks."""
    rows, columns = (int(size) for size in shared_buf.shape)
    together = max(1, _BANK_BITS // DType(str(shared_buf.dtype)).bits // columns)
    phases = max(1, min(_ROWS // together, columns // vecSize))

    def place(row: Any, column: Any) -> list[Any]:
        return [row, ((column // vecSize) ^ (row // together % phases)) * vecSize + column % vecSize]

    return Layout((rows, columns), place)


def _operand(side: int, elements: int) -> IndexMap:
    """Of an operand with ``side`` rows, whose lanes hold ``elements`` consecutive ones of K."""
    return lambda i, j: (i + side * (j // elements), j % elements)


def _swapped(place: IndexMap) -> IndexMap:
    return lambda i, j: place(j, i)


shared_16x4_to_local_64x1_layout_A = _operand(16, 1)
shared_16x16_to_local_64x4_layout_A = _operand(16, 4)
shared_16x32_to_local_64x8_layout_A = _operand(16, 8)
shared_16x64_to_local_64x16_layout_A = _operand(16, 16)
shared_32x32_to_local_64x16_layout_A = _operand(32, 16)
shared_4x16_to_local_64x1_layout_B = _swapped(shared_16x4_to_local_64x1_layout_A)
shared_16x16_to_local_64x4_layout_B = _swapped(shared_16x16_to_local_64x4_layout_A)
shared_16x32_to_local_64x8_layout_B = _swapped(shared_16x32_to_local_64x8_layout_A)
shared_16x64_to_local_64x16_layout_B = shared_16x64_to_local_64x16_layout_A
shared_32x32_to_local_64x16_layout_B = _swapped(shared_32x32_to_local_64x16_layout_A)
shared_16x16_to_local_64x4_layout_C = _swapped(shared_16x16_to_local_64x4_layout_A)
shared_16x16_to_local_64x4_layout_m_n = shared_16x16_to_local_64x4_layout_A
shared_16x16_to_local_64x4_layout_n_k = shared_16x16_to_local_64x4_layout_A
shared_16x16_to_local_64x4_layout_n_m = shared_16x16_to_local_64x4_layout_B
shared_16x16_to_local_64x4_layout_k_n = shared_16x16_to_local_64x4_layout_B


def shared_32x32_to_local_64x16_layout_C(i: Any, j: Any) -> tuple[Any, Any]:
    return i + 32 * (j // 4 % 2), 4 * (j // 8) + j % 4
