"""Layouts of shared tiles from which lanes load operands of matrix products without bank conflicts.

Pieces of 16 bytes are exclusive-ored with a multiple of the row, which takes no memory: of the 32 KiB of threadgroup
memory, padding would take a tenth. A piece is a row of an 8 x 8 matrix of halves, so the address of a load is still one
of the lane plus a constant, once for each step or column. Rows whose length is not a power of two are padded.

Threadgroup memory is taken to have 32 banks of 4 bytes. That is what a microbenchmark of M1 says
(philipturner/metal-benchmarks); later chips are less regular, and Apple documents none.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from tile_metal.lowering.matrix_instruction import LAYOUT, SIZE
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Var, tirx
from tilecore.ir.tabulate import tabulate
from tilecore.lowering.simt.matrix.swizzle import swizzled

BANKS = 32
WORD = 4  # bytes of a bank
LANES = 32
STEPS = (1, 2)  # the piece of the next row moves by so many pieces


def arranged(buffer: Var, in_rows: bool) -> BufferLayout | None:
    """The layout of a tile [..., rows, columns] with the fewest conflicts; None for row-major order.

    in_rows: the two elements of a lane are neighbours in a row; else they are in two rows.
    """
    shape = [constant(extent) for extent in buffer.shape]
    bits = DType(dtype_of(buffer)).bits
    if len(shape) < 2 or bits % 8 or any(extent is None for extent in shape):
        return None
    step = _best_step(int(shape[-2] or 0), int(shape[-1] or 0), dtype_of(buffer), in_rows)
    return _layout(buffer, step)


def _layout(buffer: Var, step: int) -> BufferLayout | None:
    return swizzled(buffer, BANKS * WORD, step) if step else None


@lru_cache(maxsize=256)
def _best_step(rows: int, columns: int, dtype: str, in_rows: bool) -> int:
    """The step of the swizzle, or 0 for row-major order."""
    tile = tirx.decl_buffer([rows, columns], dtype, "tile", scope="shared", layout=None)
    counted = {step: passes(places(tile, _layout(tile, step)), DType(dtype).bits // 8, in_rows) for step in (0, *STEPS)}
    return min(counted, key=lambda step: counted[step])


def places(buffer: Var, layout: BufferLayout | None) -> np.ndarray:
    """The byte at which each element of a tile [rows, columns] lies."""
    shape = [int(extent) for extent in buffer.shape]
    variables = [Var("row", "int32"), Var("column", "int32")]
    at = tabulate(variables, layout.place(variables) if layout is not None else variables, shape)
    sizes = layout.shape if layout is not None else shape
    strides = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return sum(index * stride for index, stride in zip(at, strides, strict=True)) * DType(dtype_of(buffer)).bits // 8


def passes(bytes_of: np.ndarray, item: int, in_rows: bool) -> int:
    """How often the banks are read to load each 8 x 8 matrix of the first 8 rows of a tile, or 8 columns of them.

    bytes_of [rows, columns]: where each element lies. item: bytes of an element.
    """
    rows, columns = bytes_of.shape
    total = 0
    for first in range(0, columns, SIZE):
        lanes = np.array([[LAYOUT.indices(lane, e) for e in range(2)] for lane in range(LANES)])  # [lane, e, axis]
        row, column = (lanes[..., 0], lanes[..., 1]) if in_rows else (lanes[..., 1], lanes[..., 0])
        begins = bytes_of[row % rows, np.minimum(first + column, columns - 1)]
        together = in_rows and bool((begins[:, 1] == begins[:, 0] + item).all())
        loads = [(begins[:, 0], 2 * item)] if together else [(begins[:, e], item) for e in range(2)]
        total += sum(_passes(places.tolist(), size) for places, size in loads)
    return total


def _passes(begins: list[int], size: int) -> int:
    """How often the banks are read for one load of ``size`` bytes for each lane: by all lanes at once if they read at
    most 4 bytes each, else by so many lanes at once as read all banks."""
    at_once = LANES if size <= WORD else LANES * WORD // size
    total = 0
    for first in range(0, LANES, at_once):
        words = {(begin + byte) // WORD for begin in begins[first : first + at_once] for byte in range(size)}
        total += int(np.bincount([word % BANKS for word in words]).max())
    return total
