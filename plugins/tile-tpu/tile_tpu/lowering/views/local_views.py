"""Accesses to tiles in local memory as views: views of the tile where the lanes match, else of a copy in other
lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tile_tpu.ir.layouts import FLAT, LANE, PARTITIONED, ROW, TileLayout
from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import AXES, NotTensor, Tile, extents_of, require_words
from tile_tpu.lowering.views.clipped_views import read_inside, write_inside
from tile_tpu.lowering.views.clips import Clip, clamped, clip_axis
from tilecore.ir.build import constant
from tilecore.ir.nodes import Var


@dataclass(frozen=True)
class LocalAccess:
    """An access to a tile.

    offset, steps: the offset in a lane, and the strides by axis of the frame, of all axes of the buffer but its lane
    axis. row, row_axis: the index of the lane axis: its uniform part, and the axis of the frame whose loop is added to
    it (None where it is uniform). clips: for each axis of the frame, the iterations inside of the buffer, where these
    are not all.
    """

    buffer: Var
    layout: TileLayout
    offset: Any
    steps: dict[str, int]
    row: Any
    row_axis: str | None
    clips: dict[str, Clip] = field(default_factory=dict)

    def axes(self) -> frozenset[str]:
        return frozenset(self.steps) | ({self.row_axis} if self.row_axis else frozenset())


def local_access(
    emit: Emitter, buffer: Var, layout: TileLayout, indices: Sequence[Any], guarded: bool = False
) -> LocalAccess:
    """The access to a tile at ``indices``. guarded: iterations whose condition does not hold may have indices outside
    of the buffer. Raises NotTensor where it is no view."""
    require_words(buffer)
    frame = emit.frame
    offset: Any = 0
    steps: dict[str, int] = {}
    row: Any = 0
    row_axis = None
    clips: dict[str, Clip] = {}
    for axis, (index, stride, size) in enumerate(zip(indices, layout.strides, layout.shape, strict=True)):
        factors, rest = frame.terms(index)
        if guarded:
            rest = _inside(emit, factors, rest, size, clips)
        if axis == layout.lane_axis:
            if len(factors) > 1 or any(f != 1 for f in factors.values()):
                raise NotTensor(f"the loop accesses rows of {buffer.name} that are not adjacent")
            row, row_axis = rest, next((frame.axes[var] for var in factors), None)
            continue
        offset = offset + rest * stride
        if any(factor < 0 for factor in factors.values()):
            raise NotTensor(f"{buffer.name} is accessed with a negative stride")
        for var, factor in factors.items():
            steps[frame.axes[var]] = steps.get(frame.axes[var], 0) + factor * stride
    if not isinstance(offset, int):
        offset = emit.analyzer.simplify(offset)
    return LocalAccess(buffer, layout, offset, steps, row, row_axis, clips)


def _inside(emit: Emitter, factors: dict[Var, int], rest: Any, size: int, clips: dict[str, Clip]) -> Any:
    """Adds the iterations in which an index is inside of the buffer to ``clips``. Returns ``rest``, which is clamped
    where the index is uniform."""
    if not factors:
        return clamped(emit, rest, size)
    clip = clip_axis(emit, factors, rest, size, extents_of(emit.frame))
    if clip is not None:
        (axis,) = (emit.frame.axes[var] for var in factors)
        if axis in clips or emit.frame.partitioned is not None:
            raise NotTensor("the end of a tile cuts a loop twice, or a loop that is partitioned over the lanes")
        clips[axis] = clip
    return rest


def is_multiple(emit: Emitter, value: Any, unit: int) -> bool:
    constant_value = constant(value)
    return (
        constant_value % unit == 0
        if constant_value is not None
        else constant(emit.analyzer.simplify(value % unit)) == 0
    )


def direct_view(emit: Emitter, access: LocalAccess) -> Tile | None:
    """The access as a view of the buffer; None where its elements are not in the lanes of their iterations."""
    frame, layout = emit.frame, access.layout
    if access.clips:
        return None
    if layout.kind == PARTITIONED:
        return _partitioned_view(emit, access)
    if frame.partitioned is not None or "c" in access.steps:
        return None
    strides = [access.steps.get(axis, 0) for axis in AXES]
    if layout.kind == ROW:
        return Tile(View(access.buffer, 0, access.offset, frame.shape(access.axes()), _four(strides)), access.axes())
    if layout.kind == FLAT or access.row_axis != "c" or not is_multiple(emit, access.row, layout.lanes):
        return None
    assert layout.lane_axis is not None
    group = layout.strides[layout.lane_axis]
    strides[1] = group
    offset = access.offset + access.row // layout.lanes * group
    return Tile(View(access.buffer, 0, offset, frame.shape(access.axes()), _four(strides)), access.axes())


def _partitioned_view(emit: Emitter, access: LocalAccess) -> Tile | None:
    frame, layout = emit.frame, access.layout
    same = frame.partitioned is not None and frame.chunk == layout.chunk and frame.count == layout.shape[0]
    if not same or access.row_axis is None or constant(access.row) != 0:
        return None
    shape = frame.shape(frozenset("cw"))
    return Tile(View(access.buffer, 0, 0, shape, (0, layout.elements, 0, 1)), frozenset("cw"))


def read(emit: Emitter, access: LocalAccess) -> Tile:
    """The value of an access. Raises NotTensor."""
    if access.clips:
        return read_inside(emit, access)
    direct = direct_view(emit, access)
    if direct is not None:
        return direct
    frame, layout = emit.frame, access.layout
    if access.row_axis is None and layout.kind != FLAT and "c" not in access.steps and frame.partitioned is None:
        return _one_row(emit, access)
    if access.row_axis is None and not access.steps and layout.kind in (PARTITIONED, LANE, FLAT, ROW):
        return _one_row(emit, access)
    if frame.partitioned is None and access.row_axis == "c" and "c" not in access.steps and layout.kind != PARTITIONED:
        return _shifted(emit, access)
    if layout.kind == LANE and access.row_axis == "w" and not access.steps:
        return _lane_to_row(emit, access)
    if layout.kind == ROW and set(access.steps) == {"c"} and access.steps["c"] == 1:
        return _row_to_lane(emit, access)
    if layout.lane_axis is not None and access.row_axis == "w" and access.steps == {"c": 1}:
        return _transposed(emit, access)
    raise NotTensor(f"the lanes of {access.buffer.name} do not match those of the loop")


def write(emit: Emitter, access: LocalAccess, value: Tile) -> None:
    """Stores a value that varies along the axes of the access, where the access has no direct view. Raises
    NotTensor."""
    if access.clips:
        write_inside(emit, access, value)
        return
    frame, layout = emit.frame, access.layout
    if frame.partitioned is not None or "c" in access.steps or layout.kind in (FLAT, PARTITIONED, ROW):
        raise NotTensor(f"the lanes of {access.buffer.name} do not match those of the loop")
    assert layout.lane_axis is not None
    group = layout.strides[layout.lane_axis]
    strides = [access.steps.get(axis, 0) for axis in AXES]
    strides[1] = group
    destination = View(
        access.buffer, access.row % layout.lanes, access.offset + access.row // layout.lanes * group, (1, 1, 1, 1),
        _four(strides),
    )  # fmt: skip
    if access.row_axis == "c":
        emit.emit("shift", destination.with_shape(*frame.shape(access.axes())), value.view)
        return
    if access.row_axis is not None:
        raise NotTensor(f"the lanes of {access.buffer.name} do not match those of the loop")
    n, _, h, w = frame.shape(access.axes())
    row = value.view.with_shape(n, 1, h, w)
    emit.emit("shift", destination.with_shape(n, 1, h, w), row)


def _one_row(emit: Emitter, access: LocalAccess) -> Tile:
    """One row, or one element, copied to all lanes."""
    layout = access.layout
    axes = access.axes()
    n, _, h, w = emit.frame.shape(axes)
    lane, offset = _location_of_row(access)
    strides = _four([access.steps.get(axis, 0) for axis in AXES])
    source = View(access.buffer, lane, offset, (n, 1, h, w), strides)
    if layout.kind == ROW or not emit.is_aligned(source) or constant(lane) != 0:
        moved = emit.room((n, 1, h, w), source.dtype, "row")
        emit.emit("shift", moved, source)
        source = moved
    copies = emit.new(axes, source.dtype, "row")
    emit.emit("to_all_lanes", copies.view, source)
    return copies


def _location_of_row(access: LocalAccess) -> tuple[Any, Any]:
    layout = access.layout
    if layout.kind == PARTITIONED:
        return access.row // layout.chunk, access.row % layout.chunk
    if layout.lane_axis is None:
        return 0, access.offset
    group = layout.strides[layout.lane_axis]
    if isinstance(access.row, int):
        return access.row % layout.lanes, access.offset + access.row // layout.lanes * group
    return access.row % layout.lanes, access.offset + access.row // layout.lanes * group


def _shifted(emit: Emitter, access: LocalAccess) -> Tile:
    """Rows that begin in another lane, copied to lane 0 and on."""
    layout = access.layout
    if layout.lane_axis is None:
        raise NotTensor(f"{access.buffer.name} is in one lane")
    axes = access.axes()
    lane, offset = _location_of_row(access)
    strides = [access.steps.get(axis, 0) for axis in AXES]
    strides[1] = layout.strides[layout.lane_axis]
    moved = emit.new(axes, str(access.buffer.dtype), "moved")
    emit.emit("shift", moved.view, View(access.buffer, lane, offset, emit.frame.shape(axes), _four(strides)))
    return moved


def _lane_to_row(emit: Emitter, access: LocalAccess) -> Tile:
    """Converts a vector with an element in each lane to a replicated one."""
    count = emit.frame.extents["w"]
    lane, offset = _location_of_row(access)
    group = access.layout.strides[0]
    column = View(access.buffer, lane, offset, (1, count, 1, 1), (0, group, 0, 1))
    if not emit.is_aligned(column):
        moved = emit.room((1, count, 1, 1), column.dtype, "moved")
        emit.emit("shift", moved, column)
        column = moved
    row = emit.room((1, 1, 1, count), column.dtype, "row")
    emit.emit("transpose", row, column)
    copies = emit.new(frozenset("w"), column.dtype, "row")
    emit.emit("to_all_lanes", copies.view, row)
    return copies


def _row_to_lane(emit: Emitter, access: LocalAccess) -> Tile:
    """Converts a replicated vector to one with an element in each lane."""
    count = emit.frame.extents["c"]
    row = View(access.buffer, 0, access.offset, (1, 1, 1, count), (0, 0, 0, 1))
    if not is_multiple(emit, access.offset, emit.eu(row.dtype)):
        moved = emit.room((1, 1, 1, count), row.dtype, "moved")
        emit.emit("copy", moved, row)
        row = moved
    else:
        row = View(row.buffer, 0, row.offset, row.shape, _aligned_row(emit, row))
    column = emit.new(frozenset("c"), row.dtype, "moved")
    emit.emit("transpose", column.view, row)
    return column


def _aligned_row(emit: Emitter, row: View) -> tuple[int, int, int, int]:
    from tile_tpu.ir.views import aligned_strides

    shape = row.constant_shape()
    assert shape is not None
    return aligned_strides(shape, emit.chip.lanes, emit.eu(row.dtype))


def _transposed(emit: Emitter, access: LocalAccess) -> Tile:
    """The transpose of a tile, for ``x[j, i]`` in a nest over i and j."""
    frame, layout = emit.frame, access.layout
    assert layout.lane_axis is not None
    rows, columns = frame.extents["w"], frame.extents["c"]
    lane, offset = _location_of_row(access)
    shape = (1, rows, 1, columns)
    source = View(access.buffer, lane, offset, shape, (0, layout.strides[layout.lane_axis], 0, 1))
    moved = emit.room(shape, source.dtype, "moved")
    emit.emit("shift", moved, source)
    transposed = emit.new(frozenset("cw"), source.dtype, "turned")
    emit.emit("transpose", transposed.view, moved)
    return transposed


def _four(strides: Sequence[int]) -> tuple[int, int, int, int]:
    n, c, h, w = strides
    return n, c, h, w
