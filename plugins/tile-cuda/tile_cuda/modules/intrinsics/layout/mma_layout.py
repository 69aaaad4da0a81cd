"""Index maps of the operands of ``mma`` and ``ldmatrix``, and the swizzle of tiles in shared memory.

The maps ``shared_RxC_to_mma_32xE_layout_*`` give (thread, register) of the element at (i, j) of a tile of 16 rows, for
an operand of 32, 16 or 8 bits: C = 8, 16 or 32 elements of K. They follow the figures of the PTX ISA, "Matrix
fragments for mma.m16n8k8 / k16 / k32": a thread has groups of 4 bytes; its lane is 4 * (row % 8) + the group's place
in 16 bytes; the groups of an operand A come by the half of the rows first, then by the half of K. sr: rows are M or N
and columns are K. rs: the other way around.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError
from tilecore.language import Layout

_ROW_GROUP = 8  # rows after which the swizzle repeats
_CHUNK = 16  # bytes that are moved together
_FULL = 128  # bytes of all banks


def get_swizzle_layout(
    row_idx: Any, col_idx: Any, row_size: int, dtype: Any, swizzle_bytes: int | None = None
) -> tuple[Any, Any, Any]:
    """(panel, row, column in the panel) of the element (row_idx, col_idx) of a tile whose rows have ``row_size``
    elements.

    A panel is ``swizzle_bytes`` wide (32, 64 or 128; the whole row where it is narrower than 128). In it the 16 bytes
    at place c of row r go to place ``c ^ (r % 8 // (128 // swizzle_bytes))``, so that 8 rows read down a column touch
    all banks.
    """
    kind = DType(dtype)
    row_bytes = row_size * kind.bits // 8
    if row_bytes % (2 * _CHUNK):
        raise LanguageError(f"get_swizzle_layout: rows of {row_bytes} bytes", expected="a multiple of 32 bytes")
    chunks = (swizzle_bytes or min(_FULL, row_bytes)) // _CHUNK
    elements = _CHUNK * 8 // kind.bits
    chunk, within = col_idx // elements, col_idx % elements
    moved = (chunk % chunks) ^ (row_idx % _ROW_GROUP // (_ROW_GROUP // chunks))
    return chunk // chunks, row_idx, moved * elements + within


def make_mma_swizzle_layout(shared_buf: Any, is_smooth: bool = False) -> Layout:
    """The layout of a tile in shared memory that ``ldmatrix`` reads without bank conflicts, for T.annotate_layout.

    is_smooth: rows as they are, which is also the layout of tiles whose rows are no multiple of 64 bytes.
    """
    shape = tuple(int(size) for size in shared_buf.shape)
    if is_smooth or shape[-1] * DType(str(shared_buf.dtype)).bits % 512:
        return Layout(shape, lambda *indices: list(indices))

    def place(*indices: Any) -> list[Any]:
        *outer, row, column = indices
        return [*outer, *get_swizzle_layout(row, column, shape[-1], str(shared_buf.dtype))]

    return Layout(shape, place)


def _operand_a(group: int) -> Callable[[Any, Any], tuple[Any, Any]]:
    """The map of an operand A of 16 rows. group: elements of 4 bytes."""

    def place(i: Any, j: Any) -> tuple[Any, Any]:
        half = 4 * group
        return 4 * (i % 8) + j % half // group, 2 * group * (j // half) + group * (i // 8) + j % group

    return place


def _operand_b(group: int) -> Callable[[Any, Any], tuple[Any, Any]]:
    """The map of an operand B of 16 columns, two instructions: (n, k) to the thread; n // 8 is the instruction."""

    def place(i: Any, j: Any) -> tuple[Any, Any]:
        half = 4 * group
        return 4 * (i % 8) + j % half // group, 2 * group * (i // 8) + group * (j // half) + j % group

    return place


def _swapped(place: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[[Any, Any], tuple[Any, Any]]:
    return lambda i, j: place(j, i)


shared_16x8_to_mma_32x4_layout_sr_a = _operand_a(1)
shared_16x16_to_mma_32x8_layout_sr_a = _operand_a(2)
shared_16x32_to_mma_32x16_layout_sr_a = _operand_a(4)
shared_16x8_to_mma_32x4_layout_sr_b = _operand_b(1)
shared_16x16_to_mma_32x8_layout_sr_b = _operand_b(2)
shared_16x32_to_mma_32x16_layout_sr_b = _operand_b(4)
shared_16x8_to_mma_32x4_layout_rs_a = _swapped(shared_16x8_to_mma_32x4_layout_sr_a)
shared_16x16_to_mma_32x8_layout_rs_a = _swapped(shared_16x16_to_mma_32x8_layout_sr_a)
shared_16x32_to_mma_32x16_layout_rs_a = _swapped(shared_16x32_to_mma_32x16_layout_sr_a)
shared_16x8_to_mma_32x4_layout_rs_b = _swapped(shared_16x8_to_mma_32x4_layout_sr_b)
shared_16x16_to_mma_32x8_layout_rs_b = _swapped(shared_16x16_to_mma_32x8_layout_sr_b)
shared_16x32_to_mma_32x16_layout_rs_b = _swapped(shared_16x32_to_mma_32x16_layout_sr_b)
