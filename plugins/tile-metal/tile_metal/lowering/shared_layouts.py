"""Layouts of shared tiles from which lanes load operands of matrix products without bank conflicts.

Pieces of 16 bytes are exclusive-ored with a multiple of the row, which takes no memory: of the 32 KiB of threadgroup
memory, padding would take a tenth. Several short rows fill a line, which has all banks once; their pieces are permuted
in the row, or in the whole line. Rows whose length is not a power of two are padded. Which permutation is best depends
on the length of rows and on the element types; it is found by counting conflicts.

Threadgroup memory is taken to have 32 banks of 4 bytes. That is what a microbenchmark of M1 says
(philipturner/metal-benchmarks); later chips are less regular, and Apple documents none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tile_metal.lowering.matrix_instruction import LANES
from tile_metal.lowering.operand_loads import run_of_lane
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Var, tirx
from tilecore.ir.tabulate import tabulate
from tilecore.lowering.simt.matrix.swizzle import PIECE, swizzled

BANKS = 32
WORD = 4  # bytes of a bank
LINE = BANKS * WORD


class Form(NamedTuple):
    """A permutation: pieces are exclusive-ored with ``line // alike * step``. alike: 0 for none. of_line: of all pieces
    of the line, else of those of a row."""

    alike: int = 0
    step: int = 0
    of_line: bool = False


FORMS = (
    Form(),
    *(Form(alike, step, of_line) for of_line in (False, True) for step in (1, 2, 4) for alike in (1, 2, 4)),
)


def arranged(buffer: Var, fragment: FragmentLayout, along_k: bool) -> BufferLayout | None:
    """The layout of a tile [..., rows, columns] with the fewest conflicts; None for row-major order.

    fragment: of the instruction's part, as (across K, along K). along_k: whether the rows of the tile are along K.
    """
    shape = [constant(extent) for extent in buffer.shape]
    bits = DType(dtype_of(buffer)).bits
    if len(shape) < 2 or bits % 8 or any(extent is None for extent in shape):
        return None
    row_bytes = int(shape[-1] or 0) * bits // 8
    if row_bytes % PIECE or row_bytes & (row_bytes - 1):
        return swizzled(buffer, LINE)
    return _layout(buffer, _best(int(shape[-2] or 0), int(shape[-1] or 0), dtype_of(buffer), fragment, along_k))


def _layout(buffer: Var, form: Form) -> BufferLayout | None:
    shape = [int(extent) for extent in buffer.shape]
    each = PIECE * 8 // DType(dtype_of(buffer)).bits  # elements of a piece
    pieces = shape[-1] // each  # of a row
    rows_of_line = max(1, LINE // PIECE // pieces)
    of_line = form.of_line and rows_of_line > 1
    period = LINE // PIECE if of_line else min(pieces, LINE // PIECE)
    if not form.alike or period < 2:
        return None

    def place(indices: Sequence[Any]) -> list[Any]:
        row, column = indices[-2], indices[-1]
        line = row // rows_of_line if rows_of_line > 1 else row
        turn = line // form.alike if form.alike > 1 else line
        turn = (turn * form.step if form.step > 1 else turn) % period
        piece = column // each
        if of_line:
            at = tirx.BitwiseXor(row % rows_of_line * pieces + piece, turn)
            return [*indices[:-2], line, at * each + column % each]
        return [*indices[:-2], row, tirx.BitwiseXor(piece, turn) * each + column % each]

    memory = [*shape[:-2], -(-shape[-2] // rows_of_line), shape[-1] * rows_of_line] if of_line else shape
    name = f"pieces of 16 bytes exclusive-ored with line / {form.alike} * {form.step}, period {period}"
    return BufferLayout(name, tuple(memory), place)


@lru_cache(maxsize=256)
def _best(rows: int, columns: int, dtype: str, fragment: FragmentLayout, along_k: bool) -> Form:
    """The first form without conflicts, else the first with the fewest."""
    tile = tirx.decl_buffer([rows, columns], dtype, "tile", scope="shared", layout=None)
    best, fewest = Form(), None
    for form in FORMS:
        needed, least = passes(places(tile, _layout(tile, form)), DType(dtype).bits // 8, fragment, along_k)
        if fewest is None or needed < fewest:
            best, fewest = form, needed
        if needed == least:
            break
    return best


def places(buffer: Var, layout: BufferLayout | None) -> np.ndarray:
    """The byte at which each element of a tile [rows, columns] lies."""
    shape = [int(extent) for extent in buffer.shape]
    variables = [Var("row", "int32"), Var("column", "int32")]
    at = tabulate(variables, layout.place(variables) if layout is not None else variables, shape)
    elements = np.ravel_multi_index(at, layout.shape if layout is not None else tuple(shape))
    return np.asarray(elements * DType(dtype_of(buffer)).bits // 8)


def passes(bytes_of: np.ndarray, item: int, fragment: FragmentLayout, along_k: bool) -> tuple[int, int]:
    """How often the banks are read to load the parts of a tile that lie side by side in its first rows; and how often
    they would be without conflicts.

    bytes_of [rows, columns]: where each element lies. item: bytes of an element.
    """
    rows, columns = bytes_of.shape
    axis, run = run_of_lane(fragment, along_k)
    at_once = min(LANES, LINE // (run * item))  # lanes
    needed = least = 0
    for register in range(0, fragment.registers, run):
        at = np.array([fragment.indices(lane, register) for lane in range(LANES)])
        row = at[:, 1 - axis] % rows
        for first in range(0, columns, fragment.shape[axis]):
            begins = bytes_of[row, np.minimum(first + at[:, axis], columns - run)]
            needed += sum(_passes(begins[lane : lane + at_once], run * item) for lane in range(0, LANES, at_once))
            least += LANES // at_once
    return needed, least


def _passes(begins: np.ndarray, size: int) -> int:
    """How often the banks are read for lanes that load ``size`` bytes each, together those of all banks at most."""
    words = np.unique((begins[:, None] + np.arange(size)) // WORD)
    return int(np.bincount(words % BANKS).max())
