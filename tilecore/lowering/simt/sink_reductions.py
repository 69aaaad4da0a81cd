"""Sinks reductions across threads out of loops: threads reduce their sums once, after the loop, not in each iteration.

The pass finds fragments that are 0 before a loop and that its iterations change only by linear updates:
``T.reduce_sum`` adds to them, or they are scaled and the result of a ``T.reduce_sum`` that nothing else reads is added
(the sum of an online softmax). Then each thread may accumulate a partial sum of the elements that it holds. The
reductions get the hint ``sunk``, and a ``reduce_partials`` is added after the loop. It depends on layouts, which are
inferred later, whether threads reduce there or in each iteration (tile_ops/reduce_partials.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import constant, dtype_of, seq, statements_of, with_body
from tilecore.ir.contraction import is_fma, separated
from tilecore.ir.nodes import (
    Add,
    AttrStmt,
    BufferRegion,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    Mul,
    PrimFunc,
    Stmt,
    TensorLoad,
    Var,
    structural_equal,
    structural_map,
)
from tilecore.ir.reductions import combining_kind
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall, as_tile_call, tile_statement
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.clears import cleared_buffer
from tilecore.lowering.analysis.kernels import Threads, each_kernel, uses_threads
from tilecore.lowering.simt.analysis.parallel_nests import outermost_nests
from tilecore.lowering.simt.state import Partial, PartialSums
from tilecore.lowering.simt.tile_ops.reduce import REDUCE


def sink_reductions(func: PrimFunc, env: PassEnv) -> PrimFunc:
    partial_sums = PartialSums()
    env.publish(partial_sums)
    if any(impl.op == "reduce" and impl.late and impl is not REDUCE for impl in env.implementations):
        return func  # the backend has its own reduction across threads

    def change(body: Stmt, threads: Threads) -> Stmt:
        return body if uses_threads(body, threads) else _Kernel(body, partial_sums).block(body)

    return func.with_body(each_kernel(func.body, change))


@dataclass
class _Candidate:
    """The updates of a sum in a loop.

    reduced: the results of the loop's reductions. adders: the reductions that add to the sum. parts: those of
    ``reduced`` that are added to the sum. factors: what the sum and its parts are multiplied by.
    """

    reduced: set[Var]
    adders: list[Evaluate] = field(default_factory=list)
    parts: set[Var] = field(default_factory=set)
    factors: list[Any] = field(default_factory=list)


class _Kernel:
    def __init__(self, body: Stmt, partial_sums: PartialSums) -> None:
        self.body, self.partial_sums = body, partial_sums
        self.viewed = set(memory_roots(body))  # other statements may access their elements by another name

    def block(self, body: Stmt) -> Stmt:
        statements: list[Stmt] = []
        zeros: dict[Var, None] = {}  # fragments that have not been accessed since they were cleared_buffer
        for statement in statements_of(body):
            if isinstance(statement, For) and statement.kind == ForKind.SERIAL:
                loop, reductions = self._loop(statement, list(zeros))
                statements += [loop, *reductions]
            else:
                statements.append(self._statement(statement))
            for var in variables(statement) & set(zeros):
                del zeros[var]
            zero = cleared_buffer(statement)
            if zero is not None and is_fragment(zero):
                zeros[zero] = None
        return seq(statements)

    def _statement(self, node: Stmt) -> Stmt:
        if isinstance(node, AttrStmt):
            return AttrStmt(node.node, node.attr_key, node.value, self.block(node.body), span=node.span)
        if isinstance(node, IfThenElse):
            other = None if node.else_case is None else self.block(node.else_case)
            return IfThenElse(node.condition, self.block(node.then_case), other, span=node.span)
        return node

    def _loop(self, node: For, zeros: list[Var]) -> tuple[Stmt, list[Stmt]]:
        """The loop with its sunk reductions marked, and the reductions across threads that follow it."""
        reductions_behind: list[Stmt] = []
        sunk: dict[Evaluate, Var] = {}
        for total in zeros:
            candidate = None if total in self.viewed else _linear_update(node, total, self.body)
            if candidate is None or candidate.parts & self.viewed:
                continue
            reductions = [*candidate.adders, *(n for part in candidate.parts for n in _reductions(node, part))]
            if not reductions:
                continue
            calls = [call for n in reductions if (call := as_tile_call(n)) is not None]
            sources = tuple((call.src.source, int(call.dim)) for call in calls)
            self.partial_sums.by_sum[total] = Partial(sources, frozenset({total, *candidate.parts}))
            sunk |= dict.fromkeys(reductions, total)
            whole = _whole_sum(calls[0], total)
            reductions_behind.append(tile_statement("reduce_partials", [whole], span=node.span))
        marked = structural_map(node.body, (Evaluate, lambda n: _mark_sunk(n) if n in sunk else n))
        return with_body(node, self.block(marked) if not reductions_behind else marked), reductions_behind


def _whole_sum(call: TileCall, total: Var) -> Any:
    """The region of the whole sum; it has the shape of the reduction's result."""
    return BufferRegion(total, list(call.dst.region))


def _mark_sunk(node: Evaluate) -> Evaluate:
    call = as_tile_call(node)
    assert call is not None
    return call.rebuilt(hints={**call.hints, CallAttr.SUNK: 1})


def _reductions(node: Stmt, target: Var) -> list[Evaluate]:
    """The tile operations that write the fragment ``target``."""
    calls = [(n, as_tile_call(n)) for n in collect(node, Evaluate)]
    return [n for n, c in calls if c is not None and any(c.args[w].source.same_as(target) for w in c.op.writes)]


def _is_sum(node: Evaluate, clear: bool) -> bool:
    """Is it a sum of a whole fragment into a whole fragment, with the given ``clear``?"""
    call = as_tile_call(node)
    if call is None or call.op.name != "reduce" or combining_kind(call.kind) != "sum" or bool(call.clear) != clear:
        return False
    return all(is_fragment(region.source) and is_whole(region) for region in (call.src, call.dst))


def _linear_update(loop: For, total: Var, kernel: Stmt) -> _Candidate | None:
    """The linear updates of ``total`` in a loop; None where the loop accesses it in any other way."""
    sums = [call for node in collect(loop.body, Evaluate) if _is_sum(node, clear=True) and (call := as_tile_call(node))]
    candidate = _Candidate({call.dst.source for call in sums})
    for node in collect(loop.body, Evaluate):
        if total in variables(node):
            call = as_tile_call(node)
            if call is None or not _is_sum(node, clear=False) or total in variables(call.src):
                return None
            candidate.adders.append(node)
    nests = outermost_nests(loop.body)
    stores = [store for nest in nests for store in collect(nest, BufferStore) if total in variables(store)]
    if not all(_is_linear_store(store, total, candidate) for store in stores):
        return None
    if any(variables(factor) & {total, *candidate.parts} for factor in candidate.factors):
        return None
    reads_in_nests = [read for s in stores for read in collect(s, TensorLoad) if read.source.same_as(total)]
    reads = [read for read in collect(loop.body, TensorLoad) if read.source.same_as(total)]
    written = [store for store in collect(loop.body, BufferStore) if store.buffer.same_as(total)]
    if len(reads) != len(reads_in_nests) or len(written) != len(stores):
        return None  # the sum is also used outside of nests
    return candidate if all(_is_only_added(part, total, loop, kernel) for part in candidate.parts) else None


def _is_linear_store(store: BufferStore, total: Var, candidate: _Candidate) -> bool:
    """Is it ``total[i] = total[i] * a + part[i] * b + ...``? Adds the parts and the factors to ``candidate``."""
    if not store.buffer.same_as(total):
        return False
    for term in _terms(store.value):
        factors = _factors(term)
        loads = [f for f in factors if isinstance(f, TensorLoad) and _same_indices(f, store) and is_fragment(f.source)]
        addends = [f for f in loads if f.source.same_as(total) or f.source in candidate.reduced]
        if not addends:
            return False
        addend = addends[0]
        if not addend.source.same_as(total):
            candidate.parts.add(addend.source)
        candidate.factors += [f for f in factors if f is not addend]
    return True


def _same_indices(read: Any, store: BufferStore) -> bool:
    if len(read.indices) != len(store.indices):
        return False
    return all(structural_equal(a, b) for a, b in zip(read.indices, store.indices, strict=True))


def _terms(value: Any) -> list[Any]:
    """The terms of a sum; a fused multiply-add counts as a product and a sum."""
    expression = separated(value) if is_fma(value) else value
    if isinstance(expression, Add):
        return [*_terms(expression.a), *_terms(expression.b)]
    return [expression]


def _factors(value: Any) -> list[Any]:
    """The factors of a product."""
    return [*_factors(value.a), *_factors(value.b)] if isinstance(value, Mul) else [value]


def _is_only_added(part: Var, total: Var, loop: For, kernel: Stmt) -> bool:
    """Do only sums in this loop write ``part``, and does the kernel read it only to add it to ``total``?"""
    written = _reductions(kernel, part)
    if not written or not all(_is_sum(node, clear=True) for node in written):
        return False
    if len(written) != len(_reductions(loop, part)) or dtype_of(part) != dtype_of(total):
        return False
    if [constant(s) for s in part.shape] != [constant(s) for s in total.shape]:
        return False
    reads = [read for read in collect(kernel, TensorLoad) if read.source.same_as(part)]
    added = [
        read
        for store in collect(loop, BufferStore)
        if store.buffer.same_as(total)
        for read in collect(store.value, TensorLoad)
        if read.source.same_as(part) and _same_indices(read, store)
    ]
    others = [node for node in collect(kernel, Evaluate) if part in variables(node) and node not in written]
    stored = [store for store in collect(kernel, BufferStore) if store.buffer.same_as(part)]
    return len(reads) == len(added) and not others and not stored


SINK_REDUCTIONS = Pass("sink_reductions", sink_reductions, leaves=(PartialSums,))
