"""Replaces reducers by fragments and reductions, where the iterations of a nest name the elements that they update.

A nest over i and j with ``r[i] = r[i] + x`` becomes one that stores x to a new fragment and a reduction of its axis j
into r. Then a thread holds only its part of r, threads reduce with those that share an element, and after a loop rather
than in it (sink_reductions.py). Elsewhere each thread has a copy of the whole reducer (tile_ops/reducers.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import KernelHint, LoopAttr
from tilecore.ir.build import cast, constant, dtype_of, is_nothing, load, nothing, seq, store
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    structural_map,
    structural_mutate,
    tirx,
)
from tilecore.ir.reducers import accumulated, same_element
from tilecore.ir.reductions import accumulator, combine, identity
from tilecore.ir.regions import whole_region
from tilecore.ir.tile_ops import as_tile_call, reducers_of, tile_statement
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import Threads, each_kernel
from tilecore.lowering.simt.analysis.parallel_nests import Nest, is_parallel, outermost_nests

MAX_ELEMENTS = 128  # of the new fragment in a thread


def reduce_reducers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    kinds = reducers_of(func.body)
    if not kinds:
        return func
    return func.with_body(each_kernel(func.body, lambda body, threads: _change(body, threads, kinds)))


def _change(body: Stmt, threads: Threads, kinds: dict[Var, str]) -> Stmt:
    nests = [Nest(node, {}) for node in outermost_nests(body)]
    inside = {s for nest in nests for s in map(hash, collect(nest.node, BufferStore))}
    chosen = {var for var in kinds if _is_regular(body, nests, var, kinds[var], threads.count, inside)}
    if not chosen or _has_schedule(body):
        return body

    def evaluate(node: Evaluate) -> Stmt:
        call = as_tile_call(node)
        if call is None:
            return node
        if call.op.name == "finalize_reducer" and call.buffer.source in chosen:
            return nothing()
        is_mark = call.op.name == "annotate" and call.key == KernelHint.REDUCER
        return nothing() if is_mark and call.rest[0].source in chosen else node

    def loop(node: For, mutator: Any) -> Any:
        return (
            _Reduced(Nest(node, {}), chosen, kinds).statement() if is_parallel(node) else mutator.default_mutate(node)
        )

    changed = structural_mutate(body, [(For, loop)])
    return structural_map(structural_map(changed, (Evaluate, evaluate)), (SeqStmt, _without_nothing))


def _without_nothing(node: SeqStmt) -> Stmt:
    return seq(list(node.seq)) if any(is_nothing(part) for part in node.seq) else node


def _has_schedule(body: Stmt) -> bool:
    """Is there a T.Pipelined loop whose statements the kernel schedules by their numbers?"""
    return any(LoopAttr.ORDER in node.annotations or LoopAttr.STAGE in node.annotations for node in collect(body, For))


def _is_regular(body: Stmt, nests: list[Nest], var: Var, kind: str, threads: int, inside: set[int]) -> bool:
    """Do all updates of the reducer stand in nests whose axes, or 0 of an axis of one element, are their indices?"""
    updates = [node for node in collect(body, BufferStore) if node.buffer.same_as(var) and _reads(node.value, var)]
    if any(hash(update) not in inside for update in updates):
        return False
    for nest in nests:
        of_nest = [s for s in collect(nest.body, BufferStore) if s.buffer.same_as(var) and _reads(s.value, var)]
        if not of_nest:
            continue
        sizes = nest.extents
        if any(size is None for size in sizes) or prod(s or 1 for s in sizes) > MAX_ELEMENTS * threads:
            return False
        first = of_nest[0]
        if any(accumulated(s, kind) is None or not same_element(s, first) for s in of_nest):
            return False
        if _axes_of(first, nest) is None:
            return False
        if len(_loads(nest.body, var)) != len(of_nest):
            return False
        if any(s.buffer.same_as(var) and not _reads(s.value, var) for s in collect(nest.body, BufferStore)):
            return False
    return bool(updates)


def _loads(node: Any, var: Var) -> list[TensorLoad]:
    return [read for read in collect(node, TensorLoad) if read.source.same_as(var)]


def _reads(value: Any, var: Var) -> bool:
    return bool(_loads(value, var))


def _axes_of(update: BufferStore, nest: Nest) -> list[int] | None:
    """The axes of the nest that the indices are, one after the other; None where the indices have another form."""
    axes: list[int] = []
    for index, size in zip(update.indices, update.buffer.shape, strict=True):
        if constant(size) == 1 and constant(index) == 0:
            continue
        number = next(
            (n for n, var in enumerate(nest.variables) if isinstance(index, Var) and index.same_as(var)), None
        )
        if number is None or number in axes or nest.extents[number] != constant(size):
            return None
        axes.append(number)
    return axes


@dataclass
class _Target:
    """What an update of a reducer becomes: an update of an element of ``values``, whose last axes are reduced."""

    values: Var
    indices: list[Any]
    kind: str
    is_plain: bool  # the nest has one update of the reducer, in every iteration


class _Reduced:
    """A nest that updates reducers, as one that stores to fragments, and the reductions of these."""

    def __init__(self, nest: Nest, chosen: set[Var], kinds: dict[Var, str]) -> None:
        self.nest, self.kinds = nest, kinds
        self.targets: dict[Var, _Target] = {}
        top = nest.body.seq if isinstance(nest.body, SeqStmt) else [nest.body]
        for update in collect(nest.body, BufferStore):
            var = update.buffer
            if var not in chosen or var in self.targets:
                continue
            axes = _axes_of(update, nest)
            if axes is None or len(axes) == len(nest.axes):
                continue  # each iteration updates an element of its own
            inner = [axis for number, axis in enumerate(nest.axes) if number not in axes]
            shape = [*var.shape, *(axis.extent for axis in inner)]
            values = tirx.decl_buffer(
                shape, accumulator(dtype_of(var)), f"{var.name}_of", scope="local.fragment", layout=None
            )
            updates = [s for s in collect(nest.body, BufferStore) if s.buffer.same_as(var)]
            is_plain = len(updates) == 1 and any(part.same_as(update) for part in top)
            indices = [*update.indices, *(axis.loop_var for axis in inner)]
            self.targets[var] = _Target(values, indices, self.kinds[var], is_plain)

    def statement(self) -> Stmt:
        if not self.targets:
            return self.nest.node
        starts = [
            store(t.values, identity(t.kind, dtype_of(t.values)), t.indices, self.nest.node.span)
            for t in self.targets.values()
            if not t.is_plain
        ]
        body = seq([*starts, structural_map(self.nest.body, (BufferStore, self._stored))])
        for axis in reversed(self.nest.axes):
            body = For(
                axis.loop_var,
                axis.min,
                axis.extent,
                ForKind.PARALLEL,
                body,
                annotations=axis.annotations,
                span=axis.span,
            )
        allocations = [AllocBuffer(t.values, span=self.nest.node.span) for t in self.targets.values()]
        reductions = [part for var, target in self.targets.items() for part in self._reductions(var, target)]
        return seq([*allocations, body, *reductions])

    def _stored(self, node: BufferStore) -> BufferStore:
        target = self.targets.get(node.buffer)
        if target is None:
            return node
        value = cast(accumulated(node, self.kinds[node.buffer]), dtype_of(target.values))
        if not target.is_plain:
            value = combine(target.kind, load(target.values, target.indices, node.span), value)
        return BufferStore(target.values, value, target.indices, span=node.span)

    def _reductions(self, var: Var, target: _Target) -> list[Stmt]:
        """Reduces the last axis, then the one before it and so on, the first of them into the reducer."""
        statements: list[Stmt] = []
        source = target.values
        while len(source.shape) > len(var.shape) + 1:
            shape = list(source.shape)[:-1]
            result = tirx.decl_buffer(shape, dtype_of(source), str(source.name), scope="local.fragment", layout=None)
            statements += [
                AllocBuffer(result, span=self.nest.node.span),
                self._reduce(source, result, target.kind, True),
            ]
            source = result
        return [*statements, self._reduce(source, var, target.kind, False)]

    def _reduce(self, source: Var, result: Var, kind: str, clear: bool) -> Stmt:
        operands = [whole_region(source), whole_region(result), kind, len(source.shape) - 1, clear, False]
        return tile_statement("reduce", operands, span=self.nest.node.span)


REDUCE_REDUCERS = Pass("reduce_reducers", reduce_reducers)
