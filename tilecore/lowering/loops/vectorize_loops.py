"""Vectorizes nests of parallel loops and reductions: chooses the axis whose iterations become lanes, by a cost model.

The cost model prefers axes along which accesses are contiguous, stores above loads. A loop becomes a loop over whole
vectors and one masked vector for the remaining iterations. A reduction accumulates into several vectors of partial
results, which are combined after the loop. Transposing and interleaving copies have forms of their own.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import lane_step
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import const, constant, dtype_of, seq
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    Broadcast,
    BufferLoad,
    BufferStore,
    Cast,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    PrimFunc,
    Ramp,
    Stmt,
    TensorLoad,
    Var,
    structural_map,
    structural_mutate,
    tirx,
)
from tilecore.ir.reductions import combine, identity
from tilecore.ir.scopes import REDUCE, is_total
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import children, collect, loads, stores, substitute
from tilecore.lowering.loops.interleave_rows import interleaving_copy
from tilecore.lowering.loops.lane_ops import across_lanes
from tilecore.lowering.loops.register_tiles import vector_bits
from tilecore.lowering.loops.transpose_blocks import copied_element, transposing_copy
from tilecore.lowering.loops.vectorize_body import Lanes
from tilecore.lowering.loops.vectorize_expressions import CannotVectorizeError

# independent partial results of a reduction, to hide the latency of the addition
STREAMS = 4
UNKNOWN_TRIPS = 16


def vectorize_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    work = _Vectorizer(env)
    return func.with_body(structural_mutate(func.body, [(For, work.loop)]))


class _Vectorizer:
    def __init__(self, env: PassEnv) -> None:
        self.env = env
        self.bits = vector_bits(env)

    def loop(self, node: For, mutator: Any) -> Any:
        if node.kind == ForKind.VECTORIZED:
            return self._explicit(node, mutator)
        if node.kind != ForKind.PARALLEL and not is_reduction(node):
            return mutator.default_mutate(node)
        axes, body = nest_of(node)
        blocks = transposing_copy(axes, body, self.bits) or interleaving_copy(axes, body, self.bits)
        if blocks is not None:
            return mutator.mutate(blocks)
        inner = [loop for loop in collect(body, For) if loop.kind == ForKind.PARALLEL or is_reduction(loop)]
        best = self._best_axis([*axes, *inner], body)
        if best is None or best in inner:
            if best is None and any(constant(axis.extent) != 1 for axis in axes):
                self._note("not_vectorized", node, reason="no axis has its elements adjacent in memory")
            return serial(axes, mutator.mutate(body))
        others = [axis for axis in axes if not axis.same_as(best)]
        try:
            vectorized = serial(others, self._vector_loop(best, body))
        except CannotVectorizeError as reason:
            self._note("not_vectorized", node, reason=str(reason))
            return serial(axes, mutator.mutate(body))
        self._note("vectorized", node, axis=str(best.loop_var.name), lanes=self._lanes(best, body))
        return vectorized

    def _explicit(self, node: For, mutator: Any) -> Any:
        extent = constant(node.extent)
        try:
            if extent is None or extent > 256:
                vectorized = self._vector_loop(node, node.body)
                self._note("vectorized", node, axis=str(node.loop_var.name), lanes=self._lanes(node, node.body))
                return vectorized
            lanes = Lanes(node.loop_var, node.min, extent) if extent > 1 else None
            if lanes is None:
                return substitute(node.body, {node.loop_var: node.min})
            vectorized = lanes.statement(node.body)
            self._note("vectorized", node, axis=str(node.loop_var.name), lanes=extent)
            return vectorized
        except CannotVectorizeError as reason:
            self._note("not_vectorized", node, reason=str(reason))
            return serial([node], mutator.mutate(node.body))

    def _note(self, topic: str, node: For, **facts: Any) -> None:
        spans = [node.span, *(store.span for store in stores(node.body))]
        location = location_of_span(next((span for span in spans if span is not None), None))
        self.env.note(topic, {"line": location.line if location else None, **facts})

    # -- choice of the axis ---------------------------------------------------------------------------------------

    def _best_axis(self, axes: list[For], body: Stmt) -> For | None:
        best, best_score = None, 0.0
        for axis in axes:
            extent = constant(axis.extent)
            if extent is not None and extent < 2:
                continue
            score = self._score(axis, self._lanes(axis, axis.body))
            if score > best_score:
                best, best_score = axis, score
        return best

    def _score(self, axis: For, count: int) -> float:
        """The score of an axis: contiguous accesses raise it, scattered accesses lower it, and stores weigh twice.

        A buffer of one element that is private to an iteration becomes a vector and costs nothing.
        """
        score = 0.5
        single = {a.buffer for a in collect(axis.body, AllocBuffer) if all(constant(s) == 1 for s in a.buffer.shape)}
        for access, trips in accesses_of(axis.body):
            is_load = isinstance(access, TensorLoad)
            buffer = access.source if is_load else access.buffer
            weight = trips if is_load else 2.0 * trips
            step = lane_step(access.indices[0], axis.loop_var, max(2, count))
            if step == 0:
                is_free = is_load or buffer in single or is_total(buffer)
                score -= 0.0 if is_free else 2.0 * weight
            elif step == 1:
                score += weight
            else:
                score -= weight if step is not None else 0.5 * weight
        extent = constant(axis.extent)
        return score if extent is None or extent >= 4 else score * 0.25

    # -- vector form ------------------------------------------------------------------------------------------

    def _lanes(self, axis: For, body: Stmt) -> int:
        count = max(1, self.bits // _widest(body))
        extent = constant(axis.extent)
        while extent is not None and count > extent:
            count //= 2
        return count

    def _vector_loop(self, axis: For, body: Stmt) -> Stmt:
        count = self._lanes(axis, body)
        if count < 2:
            raise CannotVectorizeError("the loop has fewer iterations than a vector has lanes")
        if is_reduction(axis):
            return _reduction(axis, axis.body, count)
        region = axis.body if axis.body.same_as(body) else body
        return _chunks(axis, count, lambda base, mask: Lanes(axis.loop_var, base, count, mask).statement(region))


def accesses_of(body: Stmt, trips: float = 1.0) -> list[tuple[Any, float]]:
    """The loads and stores of one-axis buffers in a statement, each with its number of executions."""
    if isinstance(body, For):
        return accesses_of(body.body, trips * (constant(body.extent) or UNKNOWN_TRIPS))
    inner = list(children(body))
    if inner:
        return [access_and_trips for child in inner for access_and_trips in accesses_of(child, trips)]
    return [(access, trips) for access in [*loads(body), *stores(body)] if len(access.indices) == 1]


def is_reduction(node: For) -> bool:
    return LoopAttr.REDUCTION in node.annotations


def nest_of(node: For) -> tuple[list[For], Stmt]:
    """The loops of a perfect nest of parallel loops, and the body of the innermost."""
    axes = [node]
    while axes[-1].kind == ForKind.PARALLEL and isinstance(axes[-1].body, For):
        inner = axes[-1].body
        if inner.kind != ForKind.PARALLEL:
            break
        axes.append(inner)
    return axes, axes[-1].body


def serial(axes: list[For], body: Stmt) -> Stmt:
    """Plain loops over ``axes`` around ``body``."""
    for axis in reversed(axes):
        body = For(axis.loop_var, axis.min, axis.extent, ForKind.SERIAL, body, span=axis.span)
    return body


def _chunks(axis: For, count: int, make: Any) -> Stmt:
    """Whole vectors, then one masked vector for the remaining iterations."""
    extent, dtype = axis.extent, dtype_of(axis.loop_var)
    analyzer = Analyzer()
    whole = analyzer.simplify(tirx.floordiv(extent, const(count, dtype)))
    remainder = analyzer.simplify(extent - whole * count)
    parts: list[Stmt] = []
    constant_whole = constant(whole)
    if constant_whole == 1:
        parts.append(make(axis.min, None))
    elif constant_whole != 0:
        chunk = Var(f"{axis.loop_var.name}_v", dtype)
        parts.append(For(chunk, const(0, dtype), whole, ForKind.SERIAL, make(axis.min + chunk * count, None)))
    if constant(remainder) != 0:
        lane = Ramp(const(0, "int32"), const(1, "int32"), count)
        mask = tirx.LT(lane, Broadcast(Cast("int32", remainder) if dtype != "int32" else remainder, count))
        tail = make(analyzer.simplify(axis.min + whole * count), mask)
        parts.append(tail if constant(remainder) is not None else IfThenElse((remainder > 0), tail, None))
    return seq(parts)


def _reduction(axis: For, body: Stmt, count: int) -> Stmt:
    """A reduction along ``axis``: STREAMS vectors of partial results, combined after the loop."""
    allocated = {alloc.buffer for alloc in collect(body, AllocBuffer)}  # of reductions inside an iteration
    totals = {s.buffer for s in stores(body) if is_total(s.buffer)} - allocated
    if not totals:
        raise CannotVectorizeError("the loop accumulates no partial result")
    extent = constant(axis.extent)
    streams = STREAMS if extent is None or extent >= STREAMS * count else 1
    partial = {
        t: tirx.decl_buffer([streams], f"{t.dtype}x{count}", f"{t.name}_v", scope="local", layout=None) for t in totals
    }
    before = [AllocBuffer(p) for p in partial.values()]
    for total, vector in partial.items():
        start = Broadcast(_start_of_lanes(total), count)
        before += [BufferStore(vector, start, [const(s, "int32")]) for s in range(streams)]

    def make(base: Any, mask: Any, stream: int) -> Stmt:
        lanes = Lanes(axis.loop_var, base, count, mask)
        for total, vector in partial.items():
            lanes.buffers[total] = (vector, stream)
            lanes.varying.add(total)
        return lanes.statement(body)

    dtype = dtype_of(axis.loop_var)
    step = streams * count
    analyzer = Analyzer()
    whole = analyzer.simplify(tirx.floordiv(axis.extent, const(step, dtype)))
    remainder = analyzer.simplify(axis.extent - whole * step)
    parts: list[Stmt] = []
    if constant(whole) != 0:
        chunk = Var(f"{axis.loop_var.name}_v", dtype)
        group = seq([make(axis.min + chunk * step + s * count, None, s) for s in range(streams)])
        parts.append(For(chunk, const(0, dtype), whole, ForKind.SERIAL, group))
    if constant(remainder) != 0:
        rest = For(axis.loop_var, analyzer.simplify(axis.min + whole * step), remainder, ForKind.SERIAL, body)
        parts.append(_chunks(rest, count, lambda base, mask: make(base, mask, 0)))
    return seq([*before, *parts, *_combined(partial, streams)])


def _start_of_lanes(total: Var) -> Any:
    """What the partial results of a reduction start from. Sums of floats: -0.0, which added to any number gives that
    number, so that the first addition vanishes. The scalar total, to which they are added, starts from 0.0."""
    kind, dtype = kind_of(total), str(total.dtype)
    return tirx.const(-0.0, dtype) if kind == "sum" and DType(dtype).is_float else identity(kind, dtype)


def _combined(partial: dict[Var, Var], streams: int) -> list[Stmt]:
    """Combines the vectors of partial results, then the lanes of the result, then the result with the scalar total."""
    statements: list[Stmt] = []
    zero = const(0, "int32")
    for total, vector in partial.items():
        kind = kind_of(total)
        parts = [BufferLoad(vector, [const(s, "int32")]) for s in range(streams)]
        while len(parts) > 1:
            parts = [combine(kind, parts[i], parts[i + 1]) for i in range(0, len(parts), 2)]
        scalar = across_lanes(parts[0], kind)
        statements.append(BufferStore(total, combine(kind, BufferLoad(total, [zero]), scalar), [zero]))
    return statements


def kind_of(total: Var) -> str:
    """The kind of reduction of a scalar total, which its scope names."""
    return str(total.scope()).removeprefix(REDUCE)


def _widest(body: Stmt) -> int:
    """Bits of the widest element type that the body computes in; narrow floats compute as float32."""
    kinds = {dtype_of(a.source) for a in loads(body)} | {dtype_of(s.buffer) for s in stores(body)}
    kinds |= _casts(body)
    if len(kinds) == 1 and isinstance(body, BufferStore) and copied_element(body.value) is not None:
        return max(8, DType(next(iter(kinds))).bits)  # a copy without computation
    return max((max(32, DType(k).bits) if DType(k).is_float else max(8, DType(k).bits)) for k in kinds) if kinds else 32


def _casts(body: Stmt) -> set[str]:
    """The types that values are converted to. 64-bit offsets do not count: they are not computed for each lane."""
    types = {dtype_of(c) for c in collect(body, Cast)}
    if "int64" not in types:
        return types

    def loaded(node: TensorLoad) -> Var:
        return Var("loaded", dtype_of(node))

    values = [s.value for s in collect(body, BufferStore, Bind, Evaluate)]
    values += [s.condition for s in collect(body, IfThenElse)]
    bare = [structural_map(value, (TensorLoad, loaded)) for value in values]
    return {dtype_of(c) for value in bare for c in collect(value, Cast)}


VECTORIZE_LOOPS = Pass("vectorize_loops", vectorize_loops)
