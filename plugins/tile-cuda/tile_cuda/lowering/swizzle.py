"""Layouts of shared tiles that warps read without bank conflicts (tilecore/lowering/simt/matrix/swizzle.py).

``ldmatrix`` reads eight rows at one column; loads of words read four rows at two neighbouring pieces.
"""

from __future__ import annotations

from tilecore.dtypes import dtype as DType
from tilecore.ir.build import dtype_of
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Var
from tilecore.ir.written_layouts import run_of
from tilecore.lowering.simt.matrix import swizzle
from tilecore.lowering.simt.matrix.swizzle import PIECE

LINE = 128  # bytes: all 32 banks once


def swizzled(buffer: Var, by_words: bool = False) -> BufferLayout | None:
    """The layout of a tile without bank conflicts; None where row-major order has none.

    by_words: threads read words, not by ``ldmatrix``.
    """
    return swizzle.swizzled(buffer, LINE, 2 if by_words else 1)


def keeps_pieces(buffer: Var, layout: BufferLayout | None) -> bool:
    """Whether aligned pieces of 16 bytes of a row are contiguous. layout: of the buffer; None: row-major."""
    if layout is not None and layout in (swizzled(buffer), swizzled(buffer, by_words=True)):
        return True
    shape = [int(s) for s in buffer.shape]
    return run_of(layout, shape) * DType(dtype_of(buffer)).bits >= PIECE * 8
