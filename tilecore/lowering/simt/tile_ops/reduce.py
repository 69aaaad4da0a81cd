"""reduce on fragments: every thread joins its own elements, then the threads that share a result join theirs.

A long chain of additions or comparisons waits for itself: a thread's few results are worked at side by side, and each
by its even and its odd elements.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import all_of, cast, const, dtype_of, load, loop, seq, store
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.nodes import AllocBuffer, ForKind, Stmt, tirx
from tilecore.ir.reductions import NUMBERS, accumulator, element, identity, join_number, joining
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall, tile_call
from tilecore.lowering.simt.analysis.implied_layouts import widened
from tilecore.lowering.simt.tile_ops.reduce_partials import is_delayed
from tilecore.lowering.simt.tile_ops.thread_elements import is_there, places_of, sharing, steps_of, unrolled
from tilecore.lowering.simt.tile_ops.thread_registers import Binding

MANY = 16  # elements of a result in a thread, from which on they are joined side by side
MOST_RESULTS = 8  # of a thread
MOST_WAYS = 4


def matches(call: TileCall, env: PassEnv) -> str | None:
    if not is_fragment(call.src.source) or not is_fragment(call.dst.source):
        return "source and result are no fragments both"
    return None if is_whole(call.src) and is_whole(call.dst) else "a part of a fragment"


def kept_axes(call: TileCall) -> list[int]:
    return [a for a in range(len(call.src.region)) if a != call.dim]


def relate(call: TileCall, known: dict[Any, Any]) -> dict[Any, Any]:
    """The result lies as the source does, without the axis; it may keep an axis of one element in its place."""
    layout: FragmentLayout | None = known.get(call.src.source)
    if layout is None:
        return {}
    small = layout.project(kept_axes(call))
    if len(call.dst.source.shape) == len(layout.shape):
        small = widened(small, [axis != call.dim for axis in range(len(layout.shape))])
    return {call.dst.source: small}


def lower(call: TileCall, env: PassEnv) -> Stmt:
    return _Lowering(call, env.facts["binding"], is_delayed(call, env)).run()


class _Lowering:
    """A thread's totals: ``ways`` of each result that it has a part in, which do not wait for each other. is_delayed:
    threads do not join theirs here."""

    def __init__(self, call: TileCall, binding: Binding, is_delayed: bool) -> None:
        self.call, self.is_delayed = call, is_delayed
        self.source, self.target = call.src.source, call.dst.source
        self.layout: FragmentLayout = binding.layout(self.source)
        self.kind = joining(call.kind, call.nan_propagate)
        self.dtype = accumulator(dtype_of(self.target))
        self.steps = steps_of(self.layout, "r")
        self.inner = {d: var for d, var in self.steps.items() if d.axis == call.dim}
        self.outer = {d: var for d, var in self.steps.items() if d.axis != call.dim}
        self.places = places_of(self.layout, binding.thread, self.steps)
        self.results = prod(d.extent for d in self.outer)
        self.side_by_side = self.results <= MOST_RESULTS and prod(d.extent for d in self.inner) >= MANY
        self.fastest = next((d for d in reversed(self.inner) if self.side_by_side and d.extent <= MOST_WAYS), None)
        self.ways = self.fastest.extent if self.fastest is not None else 1
        count = self.results * self.ways if self.side_by_side else 1
        self.totals = tirx.decl_buffer([count], self.dtype, "total", scope="local", layout=None)

    def run(self) -> Stmt:
        span = self.call.span
        first = store(self.totals, identity(self.call.kind, self.dtype), [const(0, "int32")], span)
        if not self.side_by_side:
            body = [AllocBuffer(self.totals), first, unrolled(self.inner, self._step(), span), self._result()]
            return unrolled(self.outer, seq(body), span)
        count = const(self.results * self.ways, "int32")
        clear = loop(
            count, lambda i: store(self.totals, identity(self.call.kind, self.dtype), [i]), kind=ForKind.UNROLLED
        )
        steps = unrolled({**self.inner, **self.outer}, self._step(), span)
        return seq([AllocBuffer(self.totals), clear, steps, unrolled(self.outer, self._result(), span)])

    def _step(self) -> Stmt:
        value = element(self.call.kind, cast(load(self.source, self.places, self.call.span), self.dtype))
        there = is_there(self.layout, self.places)
        if there:
            value = tirx.if_then_else(all_of(there), value, identity(self.call.kind, self.dtype))
        way = self.inner[self.fastest] if self.fastest is not None else const(0, "int32")
        at = [self._place(way)]
        return store(self.totals, join_number(self.kind, load(self.totals, at), value), at, self.call.span)

    def _place(self, way: Any) -> Any:
        """Which of the totals belongs to the result of the loops around, and this way."""
        if not self.side_by_side:
            return const(0, "int32")
        number: Any = const(0, "int32")
        for digit, var in self.outer.items():
            number = number * const(digit.extent, "int32") + var
        return number * const(self.ways, "int32") + way

    def _result(self) -> Stmt:
        made: list[Stmt] = []
        at = [self._place(const(0, "int32"))]
        for way in range(1, self.ways):
            other = load(self.totals, [self._place(const(way, "int32"))])
            made.append(store(self.totals, join_number(self.kind, load(self.totals, at), other), at))
        joined = load(self.totals, at)
        for stride, extent in () if self.is_delayed else sharing(self.layout, self.call.dim):
            made.append(store(self.totals, self._of_threads(joined, stride, extent), at))
        where = _target(self.call, self.places)
        if not self.call.clear:
            old = cast(load(self.target, where, self.call.span), self.dtype)
            joined = join_number(self.kind, joined, old)
        return seq([*made, store(self.target, cast(joined, dtype_of(self.target)), where, self.call.span)])

    def _of_threads(self, value: Any, stride: int, extent: int) -> Any:
        kind = self.kind + (NUMBERS if self.kind in ("max", "min") else "")  # a NaN was passed over already
        return tile_call("allreduce", [value, kind, extent, stride], dtype=self.dtype)


def _target(call: TileCall, places: list[Any]) -> list[Any]:
    shape = call.dst.source.shape
    if len(shape) == len(places):
        return [const(0, "int32") if axis == call.dim else p for axis, p in enumerate(places)]
    return [places[a] for a in kept_axes(call)] or [const(0, "int32") for _ in shape]


REDUCE = TileOpImpl("reduce", "registers, then threads", lower, matches, priority=1, late=True, relate=relate)
