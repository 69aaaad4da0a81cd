"""Layouts of shared tiles that warps read without bank conflicts.

Warps read rows in pieces of 16 bytes, several rows at one column. In a row-major layout these lie in the same banks. A
swizzle puts them into different ones: the index of the piece is exclusive-ored with the index of the row, or with a
multiple of it. Rows whose length is not a power of two are padded to an odd number of pieces instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.build import dtype_of
from tilecore.ir.layout import BufferLayout, padded_rows
from tilecore.ir.nodes import Var, tirx

PIECE = 16  # bytes
_USUAL_LINE = 128  # bytes: of 32 banks


def swizzled(buffer: Var, line: int, step: int = 1) -> BufferLayout | None:
    """The layout of a tile [..., rows, columns] without bank conflicts; None where row-major order has none.

    line: the bytes of all banks once, such as 128. step: the piece of the next line moves by so many pieces.
    """
    shape = tuple(int(s) for s in buffer.shape)
    bits = DType(dtype_of(buffer)).bits
    if len(shape) < 2 or bits % 8 or shape[-2] == 1:
        return None
    row_bytes, each = shape[-1] * bits // 8, PIECE * 8 // bits
    if row_bytes % PIECE or (row_bytes % line and line % row_bytes):
        pieces = -(-row_bytes // PIECE) | 1
        return padded_rows(shape, pieces * each) if pieces * each > shape[-1] else None
    if row_bytes == PIECE:
        return None
    return _swizzled_rows(shape, row_bytes, each, line, step)


def _swizzled_rows(shape: tuple[int, ...], row_bytes: int, each: int, line: int, step: int) -> BufferLayout:
    period = min(row_bytes, line) // PIECE  # pieces that are permuted
    rows_of_line = max(1, line // row_bytes)

    def place(indices: Sequence[Any]) -> list[Any]:
        row, column = indices[-2], indices[-1]
        permutation = row // rows_of_line if rows_of_line > 1 else row
        permutation = (permutation * step if step > 1 else permutation) % period
        return [*indices[:-2], row, tirx.BitwiseXor(column // each, permutation) * each + column % each]

    factor = {1: "the row", 2: "twice the row"}.get(step, f"{step} times the row")
    name = f"pieces of {PIECE} bytes exclusive-ored with {factor}, period {period}"
    if line != _USUAL_LINE and rows_of_line > 1:  # two lines may have one period
        name += f", {rows_of_line} rows alike"
    return BufferLayout(name, shape, place)
