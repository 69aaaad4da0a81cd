"""How a tile lies in local memory: which lane, and where in the lane's memory, each of its elements is.

A local buffer of the kernel becomes memory of ``elements`` per lane in every lane. One axis (the lane axis) runs over
the lanes: its element i is in lane ``i % lanes``, in group ``i // lanes``. The other axes have strides in the lane's
memory, in elements. This is the (N, C, H, W) layout of the vendor's manual with C the lane axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

TILE = "tile"  # rows in lanes: the axis before the last
LANE = "lane"  # one axis, an element a lane: a number for each row of a tile
ROW = "row"  # no lane axis, every lane has its own copy: a number for each column of a tile
SPREAD = "spread"  # one axis in equal parts, a part a lane
FLAT = "flat"  # all of it in lane 0, in order: memory that is looked at as other shapes or types too


@dataclass(frozen=True)
class TileLayout:
    """kind: one of the words above. shape: of the buffer. strides: of each axis in the lane's memory in elements (that
    of the lane axis counts groups; of SPREAD: within a part). elements: of the lane's memory. chunk: of SPREAD, how
    many elements a part has."""

    kind: str
    shape: tuple[int, ...]
    lanes: int
    lane_axis: int | None
    strides: tuple[int, ...]
    elements: int
    chunk: int = 0

    @property
    def is_replicated(self) -> bool:
        return self.kind == ROW

    def place(self, indices: Sequence[Any]) -> tuple[Any, Any]:
        """(lane, element of the lane's memory) of an element; indices are ints or expressions. ROW: lane 0."""
        if self.kind == SPREAD:
            (i,) = indices
            return i // self.chunk, i % self.chunk
        lane: Any = 0
        offset: Any = 0
        for axis, (index, stride) in enumerate(zip(indices, self.strides, strict=True)):
            if axis == self.lane_axis:
                lane = index % self.lanes
                offset = offset + index // self.lanes * stride
            else:
                offset = offset + index * stride
        return lane, offset


def _align(count: int, unit: int) -> int:
    return -(-count // unit) * unit


def tile_layout(shape: Sequence[int], lanes: int, eu: int) -> TileLayout:
    """Rank 2 or more: the axis before the last over the lanes, the last one side by side, each row aligned to ``eu``
    elements (``tpu_aligned_stride``); the axes before are outer ones."""
    *outer, rows, columns = shape
    row = _align(columns, eu)
    groups = -(-rows // lanes)
    strides = [row, 1]
    step = groups * row
    for extent in reversed(outer):
        strides.insert(0, step)
        step *= extent
    return TileLayout(TILE, tuple(shape), lanes, len(shape) - 2, tuple(strides), step)


def vector_layout(kind: str, size: int, lanes: int, eu: int) -> TileLayout:
    """Rank 1."""
    if kind == LANE:
        return TileLayout(LANE, (size,), lanes, 0, (eu,), -(-size // lanes) * eu)
    if kind == SPREAD:
        chunk = -(-size // lanes)
        return TileLayout(SPREAD, (size,), lanes, 0, (1,), _align(chunk, eu), chunk)
    return TileLayout(ROW, (size,), lanes, None, (1,), _align(size, eu))


def flat_layout(shape: Sequence[int], lanes: int, eu: int) -> TileLayout:
    """Row-major in lane 0."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return TileLayout(FLAT, tuple(shape), lanes, None, tuple(strides), _align(prod(shape), eu))
