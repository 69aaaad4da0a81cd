"""Layouts of shared tiles that waves read without bank conflicts (tilecore/lowering/simt/matrix/swizzle.py).

Lanes that load operands of matrix instructions read 16 bytes each: lane ``l`` reads piece ``l / M`` of row ``l % M`` of
the tile, for instructions of M rows. The layout puts the pieces that one phase reads into different banks. That there
are no conflicts is computed for every chip in tests/test_hip_banks.py, from the phases in tile_hip/lds_banks.py.
"""

from __future__ import annotations

from tile_hip.architectures import Architecture
from tile_hip.lds_banks import line_bytes
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import dtype_of
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Var
from tilecore.ir.written_layouts import run_of
from tilecore.lowering.simt.matrix import swizzle
from tilecore.lowering.simt.matrix.swizzle import PIECE


def swizzled(buffer: Var, architecture: Architecture) -> BufferLayout | None:
    """The layout of a tile [..., rows, columns] without bank conflicts; None where row-major order has none."""
    line = line_bytes(architecture.name)
    row_bytes = int(buffer.shape[-1]) * DType(dtype_of(buffer)).bits // 8
    # Of rows of 64 bytes, a line of 256 has four. Exclusive-ored with the row, reads of 16 rows have conflicts; with
    # twice the row, reads of 32 rows have some.
    step = 3 if line == 256 and row_bytes == 64 else 1
    return swizzle.swizzled(buffer, line, step)


def keeps_pieces(buffer: Var, layout: BufferLayout | None, architecture: Architecture) -> bool:
    """Whether aligned pieces of 16 bytes of a row are contiguous. layout: of the buffer; None: row-major."""
    if layout is not None and layout == swizzled(buffer, architecture):
        return True
    shape = [int(s) for s in buffer.shape]
    return run_of(layout, shape) * DType(dtype_of(buffer)).bits >= PIECE * 8
