"""Layouts of shared tiles that warps read without bank conflicts.

Rows are read in pieces of 16 bytes: by ``ldmatrix`` eight rows at one column, word by word four rows at two
neighbouring pieces. In a plain layout these lie in the same banks; the piece's number is exclusive-ored with the row's,
or with twice the row's, so that they lie in different ones. Rows that are no power of two long are made an odd number
of pieces long.
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
    """The layout of a tile [..., rows, columns]; None where it is best as it is."""
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
    return _turned(shape, row_bytes, each, 2 if by_words else 1)


def _turned(shape: tuple[int, ...], row_bytes: int, each: int, step: int) -> BufferLayout:
    period = min(row_bytes, LINE) // PIECE  # pieces that change places
    rows_of_line = max(1, LINE // row_bytes)

    def place(indices: Sequence[Any]) -> list[Any]:
        row, column = indices[-2], indices[-1]
        permutation = row // rows_of_line if rows_of_line > 1 else row
        permutation = (permutation * step if step > 1 else permutation) % period
        return [*indices[:-2], row, tirx.BitwiseXor(column // each, permutation) * each + column % each]

    turned = "the row" if step == 1 else "twice the row"
    return BufferLayout(f"pieces of {PIECE} bytes exclusive-ored with {turned}, period {period}", shape, place)


def keeps_pieces(buffer: Var, layout: BufferLayout | None) -> bool:
    """Do pieces of 16 bytes of a row lie together, at multiples of 16 bytes? layout: the buffer's, None for none."""
    if layout is not None and layout in (swizzled(buffer), swizzled(buffer, by_words=True)):
        return True
    shape = [int(s) for s in buffer.shape]
    return run_of(layout, shape) * DType(dtype_of(buffer)).bits >= PIECE * 8
