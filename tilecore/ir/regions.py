"""Regions of buffers: those of whole buffers, whether they cover the buffer, and the indices of matrix elements."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import const, constant
from tilecore.ir.nodes import BufferRegion, Range, TensorRegion, Var


def whole_region(buffer: Var) -> TensorRegion:
    """The region of all elements of a buffer."""
    return BufferRegion(buffer, [Range.from_min_extent(const(0, "int32"), size) for size in buffer.shape])


def is_whole(region: TensorRegion) -> bool:
    """Does the region provably cover its whole buffer, with constant bounds?"""
    return all(
        constant(r.min) == 0 and constant(r.extent) is not None and constant(r.extent) == constant(size)
        for r, size in zip(region.region, region.source.shape, strict=True)
    )


def is_whole_tile(region: TensorRegion) -> bool:
    """Is the region, with constant extents, one whole matrix along the last two axes of its buffer?"""
    last = zip(region.region[-2:], region.source.shape[-2:], strict=True)
    whole = all(constant(r.min) == 0 and constant(r.extent) == constant(size) for r, size in last)
    return whole and all(constant(r.extent) == 1 for r in region.region[:-2])


def element_indices(region: TensorRegion, row: Any, column: Any) -> list[Any]:
    """The indices in the buffer of element (``row``, ``column``) of the matrix that the region's last two axes are."""
    first = [r.min for r in region.region]
    return [*first[:-2], first[-2] + row, first[-1] + column]
