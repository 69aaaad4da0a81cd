"""Reductions along one axis of a view: along w by a pool, along n and h by halves, along the lanes by a transpose."""

from __future__ import annotations

from dataclasses import replace

from tile_tpu.ir.views import View
from tile_tpu.lowering.tile_ops.emitter import Work, constant_shape_of
from tile_tpu.lowering.tile_ops.reduction_operators import ReductionOperator
from tile_tpu.lowering.views.regions import part
from tilecore.ir.reductions import identity

N, C, H, W = range(4)


def along_columns(
    work: Work, operator: ReductionOperator, view: View, to: View | None = None, spare: bool = False
) -> View:
    """Reduces (n,c,h,w) to (n,c,h,1). The values are prepared. to: where a pool may put the result. spare: the memory
    between the rows of the view may be overwritten."""
    if operator.pool is None:
        return reduce_by_halving(work, operator, view, W)
    value = work.aligned_operand(view)
    spare = spare or not value.buffer.same_as(view.buffer)
    while _is_wide(constant_shape_of(value), work.eu(value.dtype), spare):
        value, spare = _by_units(work, operator, value, spare), True
    n, c, h, _ = constant_shape_of(value)
    total = to if to is not None else work.room((n, c, h, 1), operator.total, "total")
    work.emit(operator.pool, total, value)
    return total


def _is_wide(shape: tuple[int, int, int, int], units: int, spare: bool) -> bool:
    """Whether two pools take fewer cycles than one, which uses one unit of a lane and takes a value in each cycle."""
    if shape[H] != 1:
        return False
    rows, rest = divmod(shape[W], units)
    padding = 0 if not rest else 2 if spare else rows + 3  # the pool of one row more, the fill, the copy
    return rows + padding + units < shape[W]


def _by_units(work: Work, operator: ReductionOperator, value: View, spare: bool) -> View:
    """Reduces an aligned (n,c,1,w) to (n,c,1,units): unit u of a lane reduces the columns u, u + units, ..."""
    units = work.eu(value.dtype)
    n, c, _, width = constant_shape_of(value)
    missing = -width % units
    if missing:
        if not spare:
            copied = work.room((n, c, 1, width), value.dtype, "padded")
            work.emit("copy", copied, value)
            value = copied
        behind = replace(value, offset=value.offset + width, shape=(n, c, 1, missing))
        work.emit("fill", behind, identity(operator.kind, value.dtype))
    rows = replace(value, shape=(n, c, (width + missing) // units, units), strides=(*value.strides[:2], units, 1))
    parts = work.room((n, c, 1, units), operator.total, "parts")
    assert operator.pool is not None
    work.emit(operator.pool, parts, rows)
    return parts


def reduce_by_halving(work: Work, operator: ReductionOperator, view: View, axis: int) -> View:
    """Reduces along n, h or w by halves. The element type is that of the view; the view itself for one element."""
    assert axis != C
    remaining = constant_shape_of(view)[axis]
    if remaining == 1:
        return view
    shape = list(constant_shape_of(view))
    shape[axis] = remaining // 2
    halves = work.room((shape[0], shape[1], shape[2], shape[3]), view.dtype, "halves")
    value = view
    while remaining > 1:
        half = remaining // 2
        target = piece(work, halves, axis, 0, half)
        work.emit(operator.instruction, target, piece(work, value, axis, 0, half), piece(work, value, axis, half, half))
        if remaining % 2:
            first, last = piece(work, halves, axis, 0, 1), piece(work, value, axis, remaining - 1, 1)
            work.emit(operator.instruction, first, first, last)
        value, remaining = halves, half
    return work.normalized(piece(work, halves, axis, 0, 1))


def piece(work: Work, view: View, axis: int, start: int, count: int) -> View:
    return part(view, axis, start, count, work.chip.lanes)


def along_rows(work: Work, operator: ReductionOperator, view: View) -> View:
    """Reduces (1,rows,1,w) to (1,w,1,1): a value in each lane for each column. The values are prepared; where there are
    more rows than lanes, they have the type of intermediate results."""
    rows = constant_shape_of(view)[C]
    value = view if rows <= work.chip.lanes else _one_group(work, operator, view)
    return along_columns(work, operator, work.transposed(work.aligned_operand(value)), spare=True)


def _one_group(work: Work, operator: ReductionOperator, view: View) -> View:
    """Reduces the rows of all groups of lanes to those of one group."""
    lanes = work.chip.lanes
    _, rows, _, width = constant_shape_of(view)
    full, remainder = divmod(rows, lanes)
    groups = View(view.buffer, view.lane, view.offset, (full, lanes, 1, width), (view.strides[C], 0, 0, 1))
    value = reduce_by_halving(work, operator, groups, N)
    if full == 1:  # nothing was reduced: the view is still that of the source
        value = work.room((1, lanes, 1, width), view.dtype, "halves")
        work.emit("copy", value, groups)
    if remainder:
        first = piece(work, value, C, 0, remainder)
        work.emit(operator.instruction, first, first, piece(work, view, C, full * lanes, remainder))
    return work.normalized(value)
