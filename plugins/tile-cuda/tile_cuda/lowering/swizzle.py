"""Layouts of shared tiles that warps read without bank conflicts.

Warps read rows in pieces of 16 bytes: ``ldmatrix`` reads eight rows at one column, loads of words read four rows at two
neighbouring pieces. In a row-major layout these lie in the same banks. A swizzle puts them into different ones: the
index of the piece is exclusive-ored with the index of the row, or with twice that. Rows whose length is not a power of
two are padded to an odd number of pieces instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.build import dtype_of
from tilecore.ir.layout import BufferLayout, padded_rows
from tilecore.ir.nodes import Var, tirx
from tilecore.ir.written_layouts import run_of

PIECE = 16  # bytes
LINE = 128  # bytes: all 32 banks once


def swizzled(buffer: Var, by_words: bool = False) -> BufferLayout | None:
    """The layout of a tile [..., rows, columns] without bank conflicts; None where row-major order has none.

    by_words: threads read words, not by ``ldmatrix``.
    """
    shape = tuple(int(s) for s in buffer.shape)
    bits = DType(dtype_of(buffer)).bits
    if len(shape) < 2 or bits % 8 or shape[-2] == 1:
        return None
    row_bytes, each = shape[-1] * bits // 8, PIECE * 8 // bits
    if row_bytes % PIECE or (row_bytes % LINE and LINE % row_bytes):
        pieces = -(-row_bytes // PIECE) | 1
        return padded_rows(shape, pieces * each) if pieces * each > shape[-1] else None
    if row_bytes == PIECE:
        return None
    return _swizzled_rows(shape, row_bytes, each, 2 if by_words else 1)


def _swizzled_rows(shape: tuple[int, ...], row_bytes: int, each: int, step: int) -> BufferLayout:
    period = min(row_bytes, LINE) // PIECE  # pieces that are permuted
    rows_of_line = max(1, LINE // row_bytes)

    def place(indices: Sequence[Any]) -> list[Any]:
        row, column = indices[-2], indices[-1]
        permutation = row // rows_of_line if rows_of_line > 1 else row
        permutation = (permutation * step if step > 1 else permutation) % period
        return [*indices[:-2], row, tirx.BitwiseXor(column // each, permutation) * each + column % each]

    factor = "the row" if step == 1 else "twice the row"
    return BufferLayout(f"pieces of {PIECE} bytes exclusive-ored with {factor}, period {period}", shape, place)


def keeps_pieces(buffer: Var, layout: BufferLayout | None) -> bool:
    """Whether aligned pieces of 16 bytes of a row are contiguous. layout: of the buffer; None: row-major."""
    if layout is not None and layout in (swizzled(buffer), swizzled(buffer, by_words=True)):
        return True
    shape = [int(s) for s in buffer.shape]
    return run_of(layout, shape) * DType(dtype_of(buffer)).bits >= PIECE * 8
