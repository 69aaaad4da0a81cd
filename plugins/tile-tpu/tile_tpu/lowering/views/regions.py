"""Regions of tile buffers as views of local memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tile_tpu.ir.layouts import FLAT, LANE, PARTITIONED, ROW, TileLayout
from tile_tpu.ir.views import View, aligned_strides
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant
from tilecore.ir.nodes import TensorRegion, Var

Layouts = dict[Var, tuple[Var, TileLayout]]


class NoView(Exception):
    """A region cannot be a view; the text is the reason."""


@dataclass(frozen=True)
class RegionView:
    """A region as a view. axes: for each of the view's four axes the axis of the region that runs along it, or None."""

    view: View
    axes: tuple[int | None, int | None, int | None, int | None]


def region_view(region: TensorRegion, layouts: Layouts) -> RegionView:
    """The region as one view, which may begin in any lane. The view of a replicated vector (ROW) is its copy in lane 0.

    Raises NoView.
    """
    name = region.source.name
    if region.source not in layouts:
        scope = str(region.source.scope())
        raise NoView(f"{name} is in {scope} memory" if scope == "global" else f"{name} has no layout in local memory")
    buffer, layout = layouts[region.source]
    starts = [_number(r.min) for r in region.region]
    extents = [_number(r.extent) for r in region.region]
    if layout.kind == PARTITIONED:
        return _partitioned_region(buffer, layout, starts[0], extents[0])
    lane, offset = layout.location_of(starts)
    inner = len(extents) - 1
    if layout.kind == FLAT:
        running = [a for a, e in enumerate(extents) if e != 1]
        axis_of = dict(zip("whn", reversed(running), strict=False))
        excess = running[: max(len(running) - 3, 0)]
    elif layout.kind in (LANE, ROW):
        axis_of, excess = {"c" if layout.kind == LANE else "w": 0}, []
    else:
        outer = [a for a in range(inner - 1) if extents[a] != 1]
        axis_of = {"c": inner - 1, "w": inner, **dict(zip("nh", outer, strict=False))}
        excess = outer[2:]
    if excess:
        raise NoView(f"{name} has too many axes for a view")
    axes = tuple(axis_of.get(word) for word in "nchw")
    shape = tuple(1 if a is None else extents[a] for a in axes)
    strides = tuple(0 if a is None else layout.strides[a] for a in axes)
    view = View(buffer, _simple(lane), _simple(offset), shape, strides)  # type: ignore[arg-type]
    return RegionView(view, axes)  # type: ignore[arg-type]


def _partitioned_region(buffer: Var, layout: TileLayout, start: Any, extent: Any) -> RegionView:
    """The whole of a partitioned vector; its last part must be full. Raises NoView."""
    parts, rest = divmod(layout.shape[0], layout.chunk)
    if start != 0 or extent != layout.shape[0] or rest:
        raise NoView(f"the region is a part of {buffer.name}, a vector that is partitioned over the lanes")
    view = View(buffer, 0, 0, (1, parts, 1, layout.chunk), (0, layout.elements, 0, 1))
    return RegionView(view, (None, 0, None, 0))


def _number(value: Any) -> Any:
    constant_value = constant(value)
    return value if constant_value is None else constant_value


def _simple(value: Any) -> Any:
    return value if isinstance(value, int) else _number(Analyzer().simplify(value))


def normalized(view: View, lanes: int, eu: int) -> View:
    """The same view, in which the strides of axes with one element are those of the aligned layout."""
    shape = view.constant_shape()
    if shape is None:
        return view
    lane = constant(view.lane)
    usual = aligned_strides(shape, lanes, eu)
    used = (shape[0] > 1, lane is None or lane + shape[1] > lanes, shape[2] > 1, shape[3] > 1)
    strides = [
        stride if use else usual_stride for stride, usual_stride, use in zip(view.strides, usual, used, strict=True)
    ]
    return replace(view, strides=tuple(strides))  # type: ignore[arg-type]


def part(view: View, axis: int, start: int, count: Any, lanes: int) -> View:
    """The ``count`` elements of the view from ``start`` on along an axis. Along axis 1 (the rows) ``start`` must be a
    multiple of ``lanes``."""
    assert axis != 1 or start % lanes == 0
    steps = start // lanes if axis == 1 else start
    shape = list(view.shape)
    shape[axis] = count
    return replace(view, offset=_simple(view.offset + steps * view.strides[axis]), shape=tuple(shape))  # type: ignore[arg-type]
