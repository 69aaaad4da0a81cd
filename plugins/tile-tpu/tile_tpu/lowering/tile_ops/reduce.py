"""reduce on the tensor unit. It reduces columns by pooling instructions, rows (which are in lanes) by a transpose
first, and outer axes and integers by repeated halving. Outer axes that remain become loops of the control core."""

from __future__ import annotations

from typing import Any

from tile_tpu.ir.layouts import FLAT, PARTITIONED, ROW
from tile_tpu.ir.views import View
from tile_tpu.lowering.state import TileLayouts
from tile_tpu.lowering.tile_ops import reduction_operators, store_result
from tile_tpu.lowering.tile_ops.axis_reductions import C, N, W, along_columns, along_rows, reduce_by_halving
from tile_tpu.lowering.tile_ops.emitter import Work, constant_shape_of, view_of, why_no_view, work_of
from tile_tpu.lowering.tile_ops.reduction_operators import ReductionOperator
from tile_tpu.lowering.views.regions import region_view
from tile_tpu.options import FAST_MATH
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import constant, dtype_of, nest
from tilecore.ir.nodes import BufferRegion, ForKind, Range, Stmt, TensorRegion
from tilecore.ir.tile_ops import TileCall


def declines(call: TileCall, env: PassEnv) -> str | None:
    source, target = _inner(call, {})
    reason = why_no_view(env, source, target)
    if reason is not None:
        return reason
    if any(constant(r.extent) is None for r in (*call.src.region, *call.dst.region)):
        return "the size of a tile is not a compile-time constant"
    if env.state(TileLayouts).by_tile[call.src.source][1].kind == FLAT and len(call.src.region) > 1:
        return f"{call.src.source.name} is in one lane"
    reason = reduction_operators.declines(call.kind, dtype_of(call.src.source), dtype_of(call.dst.source))
    if reason is not None:
        return reason
    return store_result.declines(_result_shape(call, source, env), view_of(target, env))


def looped(call: TileCall) -> list[int]:
    """The outer axes that remain in the result and become loops of the control core."""
    rank = len(call.src.region)
    return [a for a in range(rank - 2) if a != call.dim and constant(call.src.region[a].extent) != 1]


def _inner(call: TileCall, outer: dict[int, Any]) -> tuple[TensorRegion, TensorRegion]:
    """The source and the target of one iteration of the loops over outer axes. outer: their loop variables, by axis."""
    rank = len(call.src.region)
    steps = {axis: outer.get(axis, 0) for axis in looped(call)}
    remaining_axes = list(range(rank))
    if len(call.dst.region) != rank:
        remaining_axes.remove(call.dim)
    source = [_at(r, steps.get(axis)) for axis, r in enumerate(call.src.region)]
    target = [_at(r, steps.get(axis)) for axis, r in zip(remaining_axes, call.dst.region, strict=False)]
    if not remaining_axes:
        target = list(call.dst.region)
    return BufferRegion(call.src.source, source), BufferRegion(call.dst.source, target)


def _at(whole: Any, step: Any) -> Any:
    return whole if step is None else Range.from_min_extent(whole.min + step, 1)


def _result_shape(call: TileCall, source: TensorRegion, env: PassEnv) -> tuple[int, int]:
    """(rows, columns) of the result of one iteration."""
    _, c, _, w = constant_shape_of(view_of(source, env))
    rank = len(source.region)
    if rank == 1:
        return 1, 1
    return {rank - 1: (c, 1), rank - 2: (w, 1)}.get(call.dim, (c, w))


def lower_reduce(call: TileCall, env: PassEnv) -> Stmt:
    axes = looped(call)

    def body(variables: list[Any]) -> Stmt:
        work = work_of(call, env)
        source, target = _inner(call, dict(zip(axes, variables, strict=True)))
        _Reduction(work, call, env, source, target).run()
        return work.statement()

    extents = [call.src.region[axis].extent for axis in axes]
    return nest(extents, body, kind=ForKind.SERIAL, span=call.span)


class _Reduction:
    """One iteration: reduces a matrix to a vector, or a stack of matrices along its outer axis to a matrix."""

    def __init__(self, work: Work, call: TileCall, env: PassEnv, source: TensorRegion, target: TensorRegion) -> None:
        self.work, self.call = work, call
        fast = bool(FAST_MATH.value_in(env.config))
        self.operator = ReductionOperator(call.kind, dtype_of(target.source), bool(call.nan_propagate), fast)
        region = region_view(source, env.state(TileLayouts).by_tile)
        self.source = region.view if constant(region.view.lane) == 0 else work.aligned_operand(region.view)
        self.target = view_of(target, env)
        self.replicated = env.state(TileLayouts).by_tile[target.source][1].kind == ROW
        kind, rank = env.state(TileLayouts).by_tile[source.source][1].kind, len(source.region)
        if rank == 1:
            self.along = [W] if kind in (ROW, FLAT) else [W, C] if kind == PARTITIONED else [C]
        else:
            self.along = [{rank - 1: W, rank - 2: C}.get(call.dim, N)]

    def run(self) -> None:
        work, operator = self.work, self.operator
        keeps_nan = operator.keeps_nan and operator.is_float and operator.instruction in ("max", "min")
        direct_target = self._direct_target() if self.call.clear and not keeps_nan else None
        total = self._folded(operator, self.source, direct_target)
        if direct_target is not None and total.buffer.same_as(direct_target.buffer):
            return
        if total.buffer.same_as(self.source.buffer):  # nothing was reduced
            total = self._copied(total)
        if keeps_nan:
            marks = self._folded(
                ReductionOperator("sum", "float32"), reduction_operators.nan_marks(work, operator, self.source), None
            )
            work.emit("add", total, total, work.converted(marks, total.dtype))
        total = store_result.oriented_like(work, total, self.target)
        if not self.call.clear:
            total = self._with_old(total, keeps_nan)
        store_result.put(work, total, self.target, self.replicated)

    def _folded(self, operator: ReductionOperator, view: View, direct_target: View | None) -> View:
        """The reduced values, in the type of intermediate results. A pool may write its result to ``direct_target``."""
        work = self.work
        pooled = operator.pool is not None and N not in self.along and (W in self.along or self._is_one_group())
        total = reduction_operators.prepare(work, operator, view, None if pooled else operator.total)
        spare = not total.buffer.same_as(view.buffer)
        plain = operator.plain()
        for axis in self.along:
            if axis == N:
                total = reduce_by_halving(work, plain, total, N)
            elif axis == W:
                total = along_columns(work, plain, total, direct_target if len(self.along) == 1 else None, spare)
            else:
                total = along_rows(work, plain, total)
        return total

    def _is_one_group(self) -> bool:
        return constant_shape_of(self.source)[C] <= self.work.chip.lanes

    def _direct_target(self) -> View | None:
        """The target, where a pool can write its result there directly; else None."""
        target = self.work.normalized(self.target)
        fits = self.along == [W] and self.operator.pool is not None and not self.replicated
        if not fits or target.dtype != self.operator.total or not self.work.is_aligned(target):
            return None
        _, c, _, _ = constant_shape_of(self.source)
        return target if constant_shape_of(target) == (1, c, 1, 1) else None

    def _copied(self, view: View) -> View:
        copy = self.work.room(constant_shape_of(view), view.dtype, "total")
        self.work.emit("copy", copy, view)
        return copy

    def _with_old(self, total: View, keeps_nan: bool) -> View:
        """The reduced values combined with the old values of the target. A NaN in the target is ignored, or kept, as a
        NaN in the source is."""
        work, operator = self.work, self.operator
        old = self.target if constant(self.target.lane) == 0 else work.aligned_operand(self.target)
        before = work.converted(old, total.dtype)
        if operator.instruction == "min" and operator.is_float:
            # the vendor's function swaps its operands where the second one alone has strides (docs/notes.md)
            before = work.aligned_operand(before)
        first, second = (total, before) if operator.instruction == "min" else (before, total)
        work.emit(operator.instruction, total, first, second)
        if keeps_nan:
            marks = reduction_operators.nan_marks(work, operator, old)
            work.emit("add", total, total, work.converted(marks, total.dtype))
        return total


IMPLEMENTATIONS = (TileOpImpl("reduce", "tensor unit", lower_reduce, declines, priority=10, needs=(TileLayouts,)),)
