"""Sums over steps of a loop: threads join theirs once, after the loop, and not in every step.

Found are fragments that are 0 before a loop and to which its steps do only what is linear: ``T.reduce_sum`` adds to
them, or they are scaled and the result of a ``T.reduce_sum`` that nothing else reads is added (the sum of an online
softmax). Then each thread may keep a sum of what it holds itself. The reductions get the hint ``delayed``, and behind
the loop stands a ``join_partials``; whether threads join there or in the steps as before is decided when layouts are
known (join_partials.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
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
from tilecore.ir.reductions import joiner
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall, as_tile_call, tile_statement
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.kernels import Threads, asks_for_threads, each_kernel
from tilecore.lowering.loops.fold_clears import cleared
from tilecore.lowering.simt.analysis.parallel_nests import is_parallel
from tilecore.lowering.simt.tile_ops.reduce import REDUCE
from tilecore.lowering.simt.tile_ops.reduce_partials import DELAYED, FACT, Partial


def sink_reductions(func: PrimFunc, env: PassEnv) -> PrimFunc:
    env.facts[FACT] = {}
    if any(impl.op == "reduce" and impl.late and impl is not REDUCE for impl in env.implementations):
        return func  # the backend joins in its own way

    def change(body: Stmt, threads: Threads) -> Stmt:
        return body if asks_for_threads(body, threads) else _Kernel(body, env).block(body)

    return func.with_body(each_kernel(func.body, change))


@dataclass
class _Found:
    """summed: what sums are made in on their own. adders: reductions into the sum. parts: what of ``summed`` is added
    to it. factors: of it, and of these."""

    summed: set[Var]
    adders: list[Evaluate] = field(default_factory=list)
    parts: set[Var] = field(default_factory=set)
    factors: list[Any] = field(default_factory=list)


class _Kernel:
    def __init__(self, body: Stmt, env: PassEnv) -> None:
        self.body, self.env = body, env

    def block(self, body: Stmt) -> Stmt:
        made: list[Stmt] = []
        zeros: dict[Var, None] = {}  # fragments that nothing has touched since they were cleared
        for statement in statements_of(body):
            if isinstance(statement, For) and statement.kind == ForKind.SERIAL:
                loop, joins = self._loop(statement, list(zeros))
                made += [loop, *joins]
            else:
                made.append(self._inside(statement))
            for var in variables(statement) & set(zeros):
                del zeros[var]
            zero = cleared(statement)
            if zero is not None and is_fragment(zero):
                zeros[zero] = None
        return seq(made)

    def _inside(self, node: Stmt) -> Stmt:
        if isinstance(node, AttrStmt):
            return AttrStmt(node.node, node.attr_key, node.value, self.block(node.body), span=node.span)
        if isinstance(node, IfThenElse):
            other = None if node.else_case is None else self.block(node.else_case)
            return IfThenElse(node.condition, self.block(node.then_case), other, span=node.span)
        return node

    def _loop(self, node: For, zeros: list[Var]) -> tuple[Stmt, list[Stmt]]:
        joins: list[Stmt] = []
        delayed: dict[Evaluate, Var] = {}
        for total in zeros:
            found = _linear(node, total, self.body)
            if found is None:
                continue
            reductions = [*found.adders, *(n for part in found.parts for n in _reductions(node, part))]
            if not reductions:
                continue
            calls = [call for n in reductions if (call := as_tile_call(n)) is not None]
            sources = tuple((call.src.source, int(call.dim)) for call in calls)
            self.env.facts[FACT][total] = Partial(sources, frozenset({total, *found.parts}))
            delayed |= dict.fromkeys(reductions, total)
            joins.append(tile_statement("join_partials", [_whole(calls[0], total)], span=node.span))
        marked = structural_map(node.body, (Evaluate, lambda n: _marked(n) if n in delayed else n))
        return with_body(node, self.block(marked) if not joins else marked), joins


def _whole(call: TileCall, total: Var) -> Any:
    """All of the sum: it has the shape of a reduction's result."""
    return BufferRegion(total, list(call.dst.region))


def _marked(node: Evaluate) -> Evaluate:
    call = as_tile_call(node)
    assert call is not None
    return call.rebuilt(hints={**call.hints, DELAYED: 1})


def _reductions(node: Stmt, target: Var) -> list[Evaluate]:
    """The tile operations that write a fragment."""
    calls = [(n, as_tile_call(n)) for n in collect(node, Evaluate)]
    return [n for n, c in calls if c is not None and any(c.args[w].source.same_as(target) for w in c.op.writes)]


def _is_sum(node: Evaluate, clear: bool) -> bool:
    call = as_tile_call(node)
    if call is None or call.op.name != "reduce" or joiner(call.kind) != "sum" or bool(call.clear) != clear:
        return False
    both = (call.src, call.dst)
    return all(is_fragment(r.source) and is_whole(r) for r in both)


def _linear(loop: For, total: Var, kernel: Stmt) -> _Found | None:
    """What a loop adds to ``total``, if that is all it does with it."""
    sums = [call for node in collect(loop.body, Evaluate) if _is_sum(node, clear=True) and (call := as_tile_call(node))]
    found = _Found({call.dst.source for call in sums})
    for node in collect(loop.body, Evaluate):
        if total in variables(node):
            call = as_tile_call(node)
            if call is None or not _is_sum(node, clear=False) or total in variables(call.src):
                return None
            found.adders.append(node)
    stores = [store for nest in _nests(loop.body) for store in collect(nest, BufferStore) if total in variables(store)]
    if not all(_adds(store, total, found) for store in stores):
        return None
    if any(variables(factor) & {total, *found.parts} for factor in found.factors):
        return None
    seen = [read for store in stores for read in collect(store, TensorLoad)]
    reads = [read for read in collect(loop.body, TensorLoad) if read.source.same_as(total)]
    written = [store for store in collect(loop.body, BufferStore) if store.buffer.same_as(total)]
    if len(reads) != len([r for r in seen if r.source.same_as(total)]) or len(written) != len(stores):
        return None  # it is used outside of nests, too
    return found if all(_is_for(part, total, loop, kernel) for part in found.parts) else None


def _nests(body: Stmt) -> list[For]:
    """The outermost parallel nests."""
    found: list[For] = []
    for node in collect(body, For):
        if is_parallel(node) and not any(any(inner.same_as(node) for inner in collect(f, For)) for f in found):
            found.append(node)
    return found


def _adds(store: BufferStore, total: Var, found: _Found) -> bool:
    """Is it ``total[i] = total[i] * a + part[i] * b + ...``? Notes the parts, and the factors."""
    if not store.buffer.same_as(total):
        return False
    for term in _terms(store.value):
        factors = _factors(term)
        here = [f for f in factors if isinstance(f, TensorLoad) and _same_place(f, store) and is_fragment(f.source)]
        summed = [f for f in here if f.source.same_as(total) or f.source in found.summed]
        if not summed:
            return False
        taken = summed[0]
        if not taken.source.same_as(total):
            found.parts.add(taken.source)
        found.factors += [f for f in factors if f is not taken]
    return True


def _same_place(read: Any, store: BufferStore) -> bool:
    mine, other = list(read.indices), list(store.indices)
    return len(mine) == len(other) and all(structural_equal(a, b) for a, b in zip(mine, other, strict=True))


def _terms(value: Any) -> list[Any]:
    whole = separated(value) if is_fma(value) else value
    return [*_terms(whole.a), *_terms(whole.b)] if isinstance(whole, Add) else [whole]


def _factors(value: Any) -> list[Any]:
    return [*_factors(value.a), *_factors(value.b)] if isinstance(value, Mul) else [value]


def _is_for(part: Var, total: Var, loop: For, kernel: Stmt) -> bool:
    """Is ``part`` written by sums in this loop only, and read only to be added to ``total``?"""
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
        if read.source.same_as(part) and _same_place(read, store)
    ]
    others = [node for node in collect(kernel, Evaluate) if part in variables(node) and node not in written]
    stored = [store for store in collect(kernel, BufferStore) if store.buffer.same_as(part)]
    return len(reads) == len(added) and not others and not stored


SINK_REDUCTIONS = Pass("sink_reductions", sink_reductions)
