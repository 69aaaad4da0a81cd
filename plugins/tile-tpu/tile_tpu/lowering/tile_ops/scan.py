"""scan on the tensor unit: running sums and maxima, in a logarithmic number of steps.

Step d combines every element with the element d before it, for d = 1, 2, 4, ... (W. D. Hillis, G. L. Steele, "Data
Parallel Algorithms", 1986). For a scan along the rows, which are in lanes, the tile is transposed, scanned and
transposed back.
"""

from __future__ import annotations

from tile_tpu.ir.layouts import FLAT, PARTITIONED, ROW
from tile_tpu.ir.views import View
from tile_tpu.lowering.state import TileLayouts
from tile_tpu.lowering.tile_ops import reduction_operators, store_result
from tile_tpu.lowering.tile_ops.axis_reductions import C, W, piece
from tile_tpu.lowering.tile_ops.emitter import Work, constant_shape_of, view_of, why_no_view, work_of
from tile_tpu.lowering.tile_ops.reduction_operators import ReductionOperator
from tile_tpu.lowering.views.regions import region_view
from tile_tpu.options import FAST_MATH
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import Stmt
from tilecore.ir.tile_ops import TileCall


def declines(call: TileCall, env: PassEnv) -> str | None:
    reason = why_no_view(env, call.src, call.dst)
    if reason is not None:
        return reason
    layouts = env.state(TileLayouts).by_tile
    source, target = (layouts[r.source][1] for r in (call.src, call.dst))
    if source.kind in (FLAT, PARTITIONED) or target.kind in (FLAT, PARTITIONED):
        return "one of the buffers is in one lane, or partitioned over the lanes"
    reason = reduction_operators.declines(call.kind, dtype_of(call.src.source), dtype_of(call.dst.source))
    if reason is not None:
        return reason
    n, c, h, w = constant_shape_of(view_of(call.src, env))
    if (n > 1 or h > 1) and _axis(call, env) == C:
        return "it scans along the rows of several matrices"
    shape = constant_shape_of(view_of(call.dst, env))
    return None if shape == (n, c, h, w) else store_result.declines((c, w), view_of(call.dst, env))


def _axis(call: TileCall, env: PassEnv) -> int:
    """The axis of the source's view that is scanned; w where the axis has one element."""
    axes = region_view(call.src, env.state(TileLayouts).by_tile).axes
    return axes.index(call.dim) if call.dim in axes else W


def lower_scan(call: TileCall, env: PassEnv) -> Stmt:
    work = work_of(call, env)
    fast = bool(FAST_MATH.value_in(env.config))
    operator = ReductionOperator(call.kind, dtype_of(call.dst.source), fast=fast)
    source, target, axis = view_of(call.src, env), view_of(call.dst, env), _axis(call, env)
    if constant(source.lane) != 0:
        source = work.aligned_operand(source)
    value = reduction_operators.prepare(work, operator, source, operator.total)
    if axis == C:
        value = work.transposed(work.aligned_operand(value))
        value = work.transposed(work.aligned_operand(_scanned(work, operator, value, W, bool(call.reverse))))
    else:
        value = _scanned(work, operator, value, axis, bool(call.reverse))
    value = store_result.oriented_like(work, value, target)
    store_result.put(work, value, target, env.state(TileLayouts).by_tile[call.dst.source][1].kind == ROW)
    return work.statement()


def _scanned(work: Work, operator: ReductionOperator, value: View, axis: int, reverse: bool) -> View:
    """The scanned values. Two new buffers alternate as the target of a step; ``value`` is not changed."""
    length = constant_shape_of(value)[axis]
    rooms: list[View] = []
    distance = 1
    while distance < length:
        if len(rooms) < 2:
            rooms.append(work.room(constant_shape_of(value), value.dtype, "running"))
        target, remaining = rooms[0] if not value.buffer.same_as(rooms[0].buffer) else rooms[1], length - distance
        unchanged_start, combined_start = (
            (remaining, 0) if reverse else (0, distance)
        )  # where the unchanged and the combined elements begin
        operand_start = distance if reverse else 0
        work.emit(
            "copy",
            piece(work, target, axis, unchanged_start, distance),
            piece(work, value, axis, unchanged_start, distance),
        )
        operands = (
            piece(work, value, axis, combined_start, remaining),
            piece(work, value, axis, operand_start, remaining),
        )
        work.emit(operator.instruction, piece(work, target, axis, combined_start, remaining), *operands)
        value, distance = target, distance * 2
    return value


IMPLEMENTATIONS = (TileOpImpl("scan", "tensor unit", lower_scan, declines, priority=10, needs=(TileLayouts,)),)
