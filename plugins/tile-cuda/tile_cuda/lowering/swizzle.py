"""Layouts of shared tiles whose rows are read in pieces of 16 bytes by eight threads at once.

Eight rows at the same column would lie in the same banks; the piece's number is exclusive-ored with the row's, so that
they lie in eight different ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.build import dtype_of
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Var, tirx

PIECE = 16  # bytes
LINE = 128  # bytes: all 32 banks once


def swizzled(buffer: Var) -> BufferLayout | None:
    """The layout of a tile [..., rows, columns]; None where its rows are no whole number of pieces, or one piece."""
    shape = tuple(int(s) for s in buffer.shape)
    size = DType(dtype_of(buffer)).bytes
    row_bytes, each = shape[-1] * size, PIECE // size
    if len(shape) < 2 or row_bytes % PIECE or row_bytes == PIECE or (row_bytes < LINE and LINE % row_bytes):
        return None
    period = min(row_bytes, LINE) // PIECE  # pieces that change places
    if row_bytes > LINE and row_bytes % LINE:
        return None
    rows_of_line = max(1, LINE // row_bytes)

    def place(indices: Sequence[Any]) -> list[Any]:
        row, column = indices[-2], indices[-1]
        piece, inside = column // each, column % each
        turn = (row // rows_of_line if rows_of_line > 1 else row) % period
        moved = tirx.BitwiseXor(piece, turn)
        return [*indices[:-2], row, moved * each + inside]

    return BufferLayout(f"pieces of {PIECE} bytes exclusive-ored with the row, period {period}", shape, place)
