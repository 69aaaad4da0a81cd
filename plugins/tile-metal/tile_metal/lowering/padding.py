"""Pads the rows of shared tiles, so that lanes which load operands of matrix products meet no bank conflicts.

Padding rather than a swizzle: the address of each load is then one of the lane plus a constant, and rows may have any
length. Threadgroup memory is taken to have 32 banks of 4 bytes. That is what a microbenchmark of M1 says
(philipturner/metal-benchmarks); later chips are less regular, and Apple documents none.
"""

from __future__ import annotations

from functools import lru_cache

from tile_metal.lowering.matrix_instruction import LAYOUT
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.layout import BufferLayout, padded_rows
from tilecore.ir.nodes import Var

BANKS = 32
WORD = 4  # bytes of a bank
STEP = 16  # bytes: rows begin at a multiple, so that copies move 16 bytes at once
LANES = 32


def padded(buffer: Var, lanes_have_rows: bool) -> BufferLayout | None:
    """The layout of a tile [..., rows, columns] with the least padding of those with the fewest conflicts; None for
    no padding.

    lanes_have_rows: the two elements of a lane are neighbours in a row; else they are in two rows.
    """
    shape = [constant(extent) for extent in buffer.shape]
    bits = DType(dtype_of(buffer)).bits
    if len(shape) < 2 or bits % 8 or any(extent is None for extent in shape):
        return None
    sizes = [int(extent or 0) for extent in shape]
    row_bytes = sizes[-1] * bits // 8
    if row_bytes % STEP or sizes[-2] == 1:
        return None
    padding = _padding(row_bytes, bits // 8, lanes_have_rows)
    return padded_rows(sizes, (row_bytes + padding) * 8 // bits) if padding else None


@lru_cache(maxsize=256)
def _padding(row_bytes: int, item: int, lanes_have_rows: bool) -> int:
    """The bytes of padding of a row."""
    candidates = range(0, BANKS * WORD, STEP)
    return min(candidates, key=lambda padding: (passes(row_bytes + padding, item, lanes_have_rows), padding))


def passes(row_bytes: int, item: int, lanes_have_rows: bool) -> int:
    """How often the banks are read to load the first part of a tile whose rows are ``row_bytes`` apart.

    item: bytes of an element.
    """
    places = [[LAYOUT.indices(lane, register) for register in range(2)] for lane in range(LANES)]
    if lanes_have_rows:
        return _passes([row * row_bytes + column * item for (row, column), _ in places], 2 * item)
    loads = ([column * row_bytes + row * item for row, column in pair] for pair in zip(*places, strict=True))
    return sum(_passes(list(load), item) for load in loads)


def _passes(begins: list[int], size: int) -> int:
    """How often the banks are read for one load of ``size`` bytes for each lane: by all lanes at once if they read at
    most 4 bytes each, else by so many lanes at once as read all banks."""
    at_once = LANES if size <= WORD else LANES * WORD // size
    total = 0
    for first in range(0, LANES, at_once):
        words = {(begin + byte) // WORD for begin in begins[first : first + at_once] for byte in range(size)}
        total += max(sum(word % BANKS == bank for word in words) for bank in range(BANKS))
    return total
