"""Layouts of tiles in local memory: the lane of each element, and its offset in the memory of that lane.

A local buffer of the kernel becomes memory of ``elements`` per lane in every lane. One axis (the lane axis) runs over
the lanes: its element i is in lane ``i % lanes``, in group ``i // lanes``. The other axes have strides in the lane's
memory, in elements. This is the (N, C, H, W) layout of the vendor's manual with C the lane axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

TILE = "tile"  # rank 2 or more: the axis before the last runs over the lanes
LANE = "lane"  # a vector with one element in each lane: a value for each row of a tile
ROW = "row"  # a vector that is replicated in every lane: a value for each column of a tile
PARTITIONED = "partitioned"  # a vector in equal parts, one part in each lane
FLAT = "flat"  # row-major in lane 0: for buffers that have views of other shapes or types


@dataclass(frozen=True)
class TileLayout:
    """The layout of one buffer.

    kind: TILE, LANE, ROW, PARTITIONED or FLAT. shape: the shape of the buffer. lane_axis: the axis that runs over the
    lanes, None where no axis does. strides: for each axis, its stride in the memory of a lane, in elements; the stride
    of the lane axis is from one group of lanes to the next, or within a part if the vector is PARTITIONED. elements:
    the number of elements that the buffer takes in a lane. chunk: the number of elements in a part of a PARTITIONED
    vector.
    """

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

    def location_of(self, indices: Sequence[Any]) -> tuple[Any, Any]:
        """The lane of an element, and its offset in that lane in elements. The indices are ints or expressions. A
        replicated vector (ROW) is located in lane 0."""
        if self.kind == PARTITIONED:
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
    """The layout of a tile of rank 2 or more. The axis before the last runs over the lanes. The elements of the last
    axis are contiguous, and each row is aligned to ``eu`` elements (``tpu_aligned_stride``)."""
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
    """The layout of a vector: LANE, ROW or PARTITIONED."""
    if kind == LANE:
        return TileLayout(LANE, (size,), lanes, 0, (eu,), -(-size // lanes) * eu)
    if kind == PARTITIONED:
        chunk = -(-size // lanes)
        return TileLayout(PARTITIONED, (size,), lanes, 0, (1,), _align(chunk, eu), chunk)
    return TileLayout(ROW, (size,), lanes, None, (1,), _align(size, eu))


def flat_layout(shape: Sequence[int], lanes: int, eu: int) -> TileLayout:
    """The row-major layout in lane 0."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return TileLayout(FLAT, tuple(shape), lanes, None, tuple(strides), _align(prod(shape), eu))
