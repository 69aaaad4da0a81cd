"""Lowers accumulations of T.Parallel iterations into T.alloc_reducer buffers to reductions.

In a nest over i and j with ``r[i] = r[i] + x``, the axes in the reducer's index become the outer loops, and the others
become a loop that accumulates into a scalar, which is combined with ``r[i]`` after the loop. A nest of another form
becomes serial loops.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.affine import coefficient
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import cast, const, dtype_of, load, seq, store
from tilecore.ir.contraction import contract
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    Call,
    For,
    ForKind,
    PrimFunc,
    Stmt,
    TensorLoad,
    Var,
    structural_map,
    structural_mutate,
    tirx,
)
from tilecore.ir.reducers import accumulated, same_element
from tilecore.ir.reductions import accumulator, combine, identity
from tilecore.ir.scopes import REDUCE
from tilecore.ir.tile_ops import reducers_of
from tilecore.ir.visit import collect, defined_variables, variables


def lower_reducers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    kinds = reducers_of(func.body)
    if not kinds:
        return func

    def nest(node: For, mutator: Any) -> Any:
        if node.kind != ForKind.PARALLEL or not _accumulates(node, kinds):
            return mutator.default_mutate(node)
        return _Nest(node, kinds).lowered()

    return func.with_body(structural_mutate(func.body, [(For, nest)]))


def _accumulates(node: Stmt, kinds: dict[Var, str]) -> bool:
    return any(s.buffer in kinds for s in collect(node, BufferStore))


class _Nest:
    """One T.Parallel nest that accumulates into reducers."""

    def __init__(self, node: For, kinds: dict[Var, str]) -> None:
        self.node = node
        self.kinds = kinds
        self.axes, self.body = _perfect_nest(node)
        self.updates = [s for s in collect(self.body, BufferStore) if s.buffer in kinds]

    def lowered(self) -> Stmt:
        named = self._named_axes()
        if named is None:
            return _serialized(self.node)
        outer = [axis for axis in self.axes if axis.loop_var in named]
        inner = [axis for axis in self.axes if axis.loop_var not in named]
        are_distinct = all(self._updates_distinct_elements(update, named) for update in self.updates)
        if not inner:
            return self.node if are_distinct else _serialized(self.node)
        kind = ForKind.PARALLEL if are_distinct else ForKind.SERIAL
        loops = self._reduction(inner)
        for axis in reversed(outer):
            loops = _loop(axis, kind, loops)
        return loops

    def _named_axes(self) -> set[Var] | None:
        """The axes that the indices of the updates use; None if the nest does not have the form of a reduction."""
        if any(accumulated(update, self.kinds[update.buffer]) is None for update in self.updates):
            return None
        reads = [r for r in collect(self.body, TensorLoad) if r.source in self.kinds]
        inside = defined_variables(self.body)
        indices = [index for update in self.updates for index in update.indices]
        if len(reads) != len(self.updates) or any(collect(index, TensorLoad, Call) for index in indices):
            return None
        named = {var for index in indices for var in variables(index)}
        if any(not same_element(a, b) for a in self.updates for b in self.updates if a.buffer.same_as(b.buffer)):
            return None
        return None if named & inside else named & {axis.loop_var for axis in self.axes}

    def _updates_distinct_elements(self, update: BufferStore, named: set[Var]) -> bool:
        """Does every combination of the named axes update a different element? Each index must use at most one axis."""
        axis_positions = {}
        for position, index in enumerate(update.indices):
            moving = variables(index) & named
            if len(moving) == 1:
                (var,) = moving
                step = coefficient(index, var)
                if isinstance(step, int) and step != 0:
                    axis_positions[var] = position
        return set(axis_positions) == named

    def _reduction(self, inner: list[For]) -> Stmt:
        """The inner axes as loops that accumulate into scalars, which are combined with the reducers after them."""
        zero = const(0, "int32")
        totals: dict[Var, Var] = {}
        before: list[Stmt] = []
        after: list[Stmt] = []
        for update in self.updates:
            if update.buffer in totals:
                continue
            kind, dtype = self.kinds[update.buffer], dtype_of(update.buffer)
            total = tirx.decl_buffer([1], accumulator(dtype), "total", scope=REDUCE + kind, layout=None)
            totals[update.buffer] = total
            before += [AllocBuffer(total), store(total, identity(kind, dtype_of(total)), [zero], update.span)]
            old = cast(load(update.buffer, update.indices, update.span), dtype_of(total))
            combined = cast(combine(kind, old, BufferLoad(total, [zero])), dtype)
            after.append(store(update.buffer, combined, list(update.indices), update.span))

        def into_scalar(update: BufferStore) -> BufferStore:
            total = totals.get(update.buffer)
            if total is None:
                return update
            kind = self.kinds[update.buffer]
            value = contract(combine(kind, BufferLoad(total, [zero]), accumulated(update, kind)))
            return BufferStore(total, value, [zero], span=update.span)

        nest: Stmt = structural_map(self.body, (BufferStore, into_scalar))
        notes = {LoopAttr.REDUCTION: self.kinds[self.updates[0].buffer]}
        for depth, axis in enumerate(reversed(inner)):
            nest = _loop(axis, ForKind.SERIAL, nest, notes if depth == 0 else None)
        return seq([*before, nest, *after])


def _perfect_nest(node: For) -> tuple[list[For], Stmt]:
    """The loops of a perfect T.Parallel nest, and its body."""
    axes = [node]
    while isinstance(axes[-1].body, For) and axes[-1].body.kind == ForKind.PARALLEL:
        axes.append(axes[-1].body)
    return axes, axes[-1].body


def _loop(axis: For, kind: int, body: Stmt, notes: dict[str, Any] | None = None) -> For:
    return For(axis.loop_var, axis.min, axis.extent, kind, body, annotations=notes, span=axis.span)


def _serialized(node: For) -> Stmt:
    """The nest as serial loops."""

    def plain(loop: For) -> For:
        return _loop(loop, ForKind.SERIAL, loop.body) if loop.kind == ForKind.PARALLEL else loop

    return structural_map(node, (For, plain))


LOWER_REDUCERS = Pass("lower_reducers", lower_reducers)
