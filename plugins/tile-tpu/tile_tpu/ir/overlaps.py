"""Overlaps of two views of one local buffer. In doubt, views may overlap, and neither covers the other.

A view accesses ``c`` lanes, from its first lane on and modulo the number of lanes. In each lane it accesses offsets
with the strides of n, of the groups of lanes, of h and of w.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tile_tpu.ir.views import View
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant
from tilecore.ir.nodes import structural_equal


class Axis(NamedTuple):
    """``extent`` offsets that are ``stride`` elements apart."""

    extent: int
    stride: int


def may_overlap(a: View, b: View, lanes: int) -> bool:
    """Whether two views of one buffer may have an element in common."""
    if _lanes_differ(a, b, lanes):
        return False
    apart = _difference(b.offset, a.offset)
    spans = _span(a, lanes), _span(b, lanes)
    if apart is None or None in spans:
        return True
    return not (apart >= spans[0] or -apart >= spans[1])  # type: ignore[operator]


def covers(written: View, read: View, lanes: int) -> bool:
    """Whether ``written`` contains every element of ``read``."""
    if _difference(written.lane, read.lane) != 0 or not _at_most(read.shape[1], written.shape[1]):
        return False
    apart = _difference(read.offset, written.offset)
    if apart is None:
        return False
    if apart == 0 and _same(written.strides, read.strides):
        return all(_at_most(r, w) for r, w in zip(read.shape, written.shape, strict=True))
    axes, span = _axes(written, lanes), _span(read, lanes)
    if axes is None or span is None or not _is_even(written, lanes):
        return False
    return len(axes) <= 1 and apart >= 0 and apart + span <= (axes[0].extent if axes else 1)


def _is_even(view: View, lanes: int) -> bool:
    """Whether the view has the same offsets in each of its lanes."""
    lane, c = constant(view.lane), constant(view.shape[1])
    return lane is not None and c is not None and (lane + c <= lanes or (lane == 0 and c % lanes == 0))


def _lanes_differ(a: View, b: View, lanes: int) -> bool:
    numbers = [constant(n) for n in (a.lane, a.shape[1], b.lane, b.shape[1])]
    if None in numbers:
        return False
    first, count, other, others = numbers
    if first + count > lanes or other + others > lanes:  # type: ignore[operator]
        return False
    return first + count <= other or other + others <= first  # type: ignore[operator]


def _axes(view: View, lanes: int) -> list[Axis] | None:
    """The offsets of the view in the lane with the most of them, as the fewest axes, the widest stride first. None
    where an extent or a stride is not known."""
    n, c, h, w = (constant(s) for s in view.shape)
    strides = [constant(s) for s in view.strides]
    if None in (n, c, h, w) or None in strides:
        return None
    extents = (n, -(-c // lanes), h, w)  # type: ignore[operator]
    axes = sorted(
        (Axis(e, s) for e, s in zip(extents, strides, strict=True) if e != 1 and s != 0),  # type: ignore[arg-type]
        key=lambda axis: -axis.stride,
    )
    merged: list[Axis] = []
    for axis in axes:
        if merged and merged[-1].stride == axis.extent * axis.stride:
            axis = Axis(merged.pop().extent * axis.extent, axis.stride)
        merged.append(axis)
    return merged if not merged or merged[-1].stride == 1 else [*merged, Axis(1, 1)]


def _span(view: View, lanes: int) -> int | None:
    """The number of elements from the first to the last one in a lane; None where it has no known bound."""
    total, lane = 0, constant(view.lane)
    before = lanes - 1 if lane is None else lane
    for number, (extent, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        step, most = constant(stride), _most(extent)
        if step is None or most is None or step < 0:
            return None
        total += ((-(-(before + most) // lanes) if number == 1 else most) - 1) * step
    return total + 1


def _most(extent: Any) -> int | None:
    constant_extent = constant(extent)
    if constant_extent is not None:
        return constant_extent
    bound = Analyzer().const_int_bound(extent).max_value
    return int(bound) if bound < 65536 else None


def _difference(a: Any, b: Any) -> int | None:
    """``a - b`` where it is a constant, else None."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return constant(Analyzer().simplify(a - b))


def _same(a: Any, b: Any) -> bool:
    return all(_difference(x, y) == 0 for x, y in zip(a, b, strict=True))


def _at_most(a: Any, b: Any) -> bool:
    largest, limit = _most(a), constant(b)
    if largest is not None and limit is not None:
        return largest <= limit
    return not isinstance(a, int) and not isinstance(b, int) and bool(structural_equal(a, b))
