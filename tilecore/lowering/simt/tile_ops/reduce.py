"""Lowers reduce on fragments: each thread reduces its own elements, then threads reduce across threads.

To avoid one long dependence chain of additions or comparisons, a thread computes its few results at the same time, each
in several partial totals.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import cast, const, dtype_of, load, loop, seq, store
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.nodes import AllocBuffer, ForKind, Stmt, tirx
from tilecore.ir.reductions import NUMBERS, accumulator, combine_numbers, combining_kind_of, element, identity
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall, tile_call
from tilecore.lowering.simt.analysis.implied_layouts import widened
from tilecore.lowering.simt.state import PartialSums
from tilecore.lowering.simt.thread_env import ThreadEnv
from tilecore.lowering.simt.tile_ops.reduce_partials import is_sunk
from tilecore.lowering.simt.tile_ops.thread_elements import bounds_of, element_of, steps_of, thread_groups, unrolled
from tilecore.lowering.simt.tile_ops.thread_registers import Binding

MIN_INTERLEAVED = 16  # elements of a result in a thread, from which on the thread's results are interleaved
MAX_RESULTS = 8  # of a thread whose results are interleaved
MAX_PARTIALS = 4  # partial totals of each result


def matches(call: TileCall, env: PassEnv) -> str | None:
    """The reason why this implementation does not apply to the call; None if it applies."""
    if not is_fragment(call.src.source) or not is_fragment(call.dst.source):
        return "source and result are not both fragments"
    return None if is_whole(call.src) and is_whole(call.dst) else "it reduces a part of a fragment"


def kept_axes(call: TileCall) -> list[int]:
    """The axes of the source that the result has, too."""
    return [a for a in range(len(call.src.region)) if a != call.dim]


def relate(call: TileCall, layouts: dict[Any, Any]) -> dict[Any, Any]:
    """The layout of the result: that of the source without the reduced axis, or with one element along it."""
    layout: FragmentLayout | None = layouts.get(call.src.source)
    if layout is None:
        return {}
    result = layout.project(kept_axes(call))
    if len(call.dst.source.shape) == len(layout.shape):
        result = widened(result, [axis != call.dim for axis in range(len(layout.shape))])
    return {call.dst.source: result}


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    return _Lowering(call, env.binding, is_sunk(call, env)).run()


class _Lowering:
    """The lowering of one call. ``totals`` holds ``partials`` partial totals of each of the thread's results. is_sunk:
    the reduction across threads happens elsewhere."""

    def __init__(self, call: TileCall, binding: Binding, is_sunk: bool) -> None:
        self.call, self.is_sunk = call, is_sunk
        self.source, self.target = call.src.source, call.dst.source
        self.layout: FragmentLayout = binding.layout(self.source)
        self.kind = combining_kind_of(call.kind, call.nan_propagate)
        self.dtype = accumulator(dtype_of(self.target))
        self.steps = steps_of(self.layout, "r")
        self.inner = {d: var for d, var in self.steps.items() if d.axis == call.dim}
        self.outer = {d: var for d, var in self.steps.items() if d.axis != call.dim}
        self.indices = element_of(self.layout, binding.thread, self.steps)
        self.bounds = bounds_of(self.layout, binding.thread, self.steps)
        self.results = prod(d.extent for d in self.outer)
        self.interleaved = self.results <= MAX_RESULTS and prod(d.extent for d in self.inner) >= MIN_INTERLEAVED
        self.fastest = next((d for d in reversed(self.inner) if self.interleaved and d.extent <= MAX_PARTIALS), None)
        self.partials = self.fastest.extent if self.fastest is not None else 1
        count = self.results * self.partials if self.interleaved else 1
        self.totals = tirx.decl_buffer([count], self.dtype, "total", scope="local", layout=None)

    def run(self) -> Stmt:
        span = self.call.span
        first = store(self.totals, identity(self.call.kind, self.dtype), [const(0, "int32")], span)
        if not self.interleaved:
            body = [
                AllocBuffer(self.totals),
                first,
                unrolled(self.inner, self._step(), span, self.bounds),
                self._result(),
            ]
            return unrolled(self.outer, seq(body), span)
        count = const(self.results * self.partials, "int32")
        clear = loop(
            count, lambda i: store(self.totals, identity(self.call.kind, self.dtype), [i]), kind=ForKind.UNROLLED
        )
        steps = unrolled({**self.inner, **self.outer}, self._step(), span, self.bounds)
        return seq([AllocBuffer(self.totals), clear, steps, unrolled(self.outer, self._result(), span)])

    def _step(self) -> Stmt:
        value = element(self.call.kind, cast(load(self.source, self.indices, self.call.span), self.dtype))
        partial = self.inner[self.fastest] if self.fastest is not None else const(0, "int32")
        index = [self._total_index(partial)]
        return store(self.totals, combine_numbers(self.kind, load(self.totals, index), value), index, self.call.span)

    def _total_index(self, partial: Any) -> Any:
        """The index of a partial total of the result that the loops around compute."""
        if not self.interleaved:
            return const(0, "int32")
        result: Any = const(0, "int32")
        for digit, var in self.outer.items():
            result = result * const(digit.extent, "int32") + var
        return result * const(self.partials, "int32") + partial

    def _result(self) -> Stmt:
        """Combines the partial totals of a result, reduces it across threads, and stores it."""
        statements: list[Stmt] = []
        index = [self._total_index(const(0, "int32"))]
        for partial in range(1, self.partials):
            other = load(self.totals, [self._total_index(const(partial, "int32"))])
            statements.append(store(self.totals, combine_numbers(self.kind, load(self.totals, index), other), index))
        total = load(self.totals, index)
        for stride, extent in () if self.is_sunk else thread_groups(self.layout, self.call.dim):
            statements.append(store(self.totals, self._allreduce(total, stride, extent), index))
        target_indices = _target_indices(self.call, self.indices)
        if not self.call.clear:
            old = cast(load(self.target, target_indices, self.call.span), self.dtype)
            total = combine_numbers(self.kind, total, old)
        result = store(self.target, cast(total, dtype_of(self.target)), target_indices, self.call.span)
        return seq([*statements, result])

    def _allreduce(self, value: Any, stride: int, extent: int) -> Any:
        kind = self.kind + (NUMBERS if self.kind in ("max", "min") else "")  # the thread's reduction has dropped NaNs
        return tile_call("allreduce", [value, kind, extent, stride], dtype=self.dtype)


def _target_indices(call: TileCall, indices: list[Any]) -> list[Any]:
    """The indices of the result for the source element at ``indices``."""
    shape = call.dst.source.shape
    if len(shape) == len(indices):
        return [const(0, "int32") if axis == call.dim else index for axis, index in enumerate(indices)]
    return [indices[axis] for axis in kept_axes(call)] or [const(0, "int32") for _ in shape]


REDUCE = TileOpImpl(
    "reduce", "registers, then threads", lower, matches, priority=1, late=True, relate=relate, needs=(PartialSums,)
)
IMPLEMENTATIONS = (REDUCE,)
