"""Guarded accesses to tiles in local memory that are outside of the tile in some iterations: only the part inside is
read or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_tpu.ir.layouts import FLAT, PARTITIONED
from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import AXES, NotTensor, Tile
from tilecore.ir.build import const, constant, seq
from tilecore.ir.nodes import IfThenElse, tirx

if TYPE_CHECKING:
    from tile_tpu.lowering.views.local_views import LocalAccess


def read_inside(emit: Emitter, access: LocalAccess) -> Tile:
    """The value of an access; 0 where it is outside of the buffer. Raises NotTensor."""
    buffer_part = _part_of_buffer(emit, access)
    whole = emit.filled(const(0, str(access.buffer.dtype)), access.axes(), str(access.buffer.dtype))
    _move(emit, access, _part(access, whole.view, emit.frame.lanes), buffer_part)
    return whole


def write_inside(emit: Emitter, access: LocalAccess, value: Tile) -> None:
    """Stores a value that varies along the axes of the access, where the access is inside of the buffer. Raises
    NotTensor."""
    buffer_part = _part_of_buffer(emit, access)
    _move(emit, access, buffer_part, _part(access, value.view, emit.frame.lanes))


def _part_of_buffer(emit: Emitter, access: LocalAccess) -> View:
    """The part of the access inside of the buffer, as a view of the buffer. Raises NotTensor where it is no view."""
    frame, layout = emit.frame, access.layout
    across = "c" in access.steps or access.row_axis not in ("c", None)
    if frame.partitioned is not None or layout.kind in (PARTITIONED, FLAT) or across:
        raise NotTensor(
            f"the lanes of {access.buffer.name} do not match those of the loop, and an access may be beyond its end"
        )
    strides = [access.steps.get(axis, 0) for axis in AXES]
    if layout.lane_axis is None:  # every lane has all of it
        shape_in_frame = frame.shape(access.axes())
        view = View(access.buffer, 0, access.offset, shape_in_frame, tuple(strides))  # type: ignore[arg-type]
        return _part(access, view, 1)
    if access.row_axis is None:
        raise NotTensor(f"the loop accesses one row of {access.buffer.name}, which may be beyond its end")
    strides[1] = layout.strides[layout.lane_axis]
    clip = access.clips.get("c")
    row = access.row if clip is None else access.row + clip.first
    lane, offset = row % layout.lanes, access.offset + row // layout.lanes * strides[1]
    rest = {axis: clip for axis, clip in access.clips.items() if axis != "c"}
    shape = list(frame.shape(access.axes()))
    if clip is not None:
        shape[1] = clip.count
    view = View(access.buffer, _simplify(emit, lane), offset, tuple(shape), tuple(strides))  # type: ignore[arg-type]
    return _clipped(view, rest)


def _part(access: LocalAccess, view: View, lanes: int) -> View:
    """The part inside, as a view of a temporary with the lanes of the frame."""
    inside = _clipped(view, {axis: clip for axis, clip in access.clips.items() if axis != "c"})
    clip = access.clips.get("c")
    if clip is None:
        return inside
    n, _, h, w = inside.shape
    offset = inside.offset + clip.first // lanes * inside.strides[1]
    return View(inside.buffer, clip.first % lanes, offset, (n, clip.count, h, w), inside.strides)


def _clipped(view: View, clips: dict[str, Any]) -> View:
    offset, shape = view.offset, list(view.shape)
    for axis, clip in clips.items():
        number = AXES.index(axis)
        offset = offset + clip.first * view.strides[number]
        shape[number] = clip.count
    return View(view.buffer, view.lane, offset, tuple(shape), view.strides)  # type: ignore[arg-type]


def _move(emit: Emitter, access: LocalAccess, to: View, source: View) -> None:
    """Copies ``source`` to ``to``, which have the same shape, unless they are empty."""
    counts = [clip.count for clip in access.clips.values()]
    if any(constant(count) == 0 for count in counts):
        return
    same_lanes = constant(to.lane) == constant(source.lane) == 0
    with emit.inner() as statements:
        emit.emit("copy" if same_lanes else "shift", to, source)
    unknown = [count > 0 for count in counts if constant(count) is None]
    condition = tirx.all(*unknown) if unknown else None
    emit.add(seq(statements) if condition is None else IfThenElse(condition, seq(statements), None, span=emit.span))


def _simplify(emit: Emitter, value: Any) -> Any:
    simplified = value if isinstance(value, int) else emit.analyzer.simplify(value)
    constant_value = constant(simplified)
    return simplified if constant_value is None else constant_value
