"""Checks that no iteration of T.Parallel goes on with what another one computed in memory of a thread.

    v = T.alloc_var("float32")
    for i in T.Parallel(256):
        v += A[i]
    B[0] = v

Iterations run in any order and at the same time: each has a copy of ``v`` of its own, which starts with the value from
before the loop (privatize_scratch.py). After the loop the copies differ, and none of them is the sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilecore.errors import LanguageError
from tilecore.ir.build import seq
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    BufferStore,
    Call,
    Expr,
    For,
    ForKind,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    While,
)
from tilecore.ir.parallel_nests import innermost, region_facts
from tilecore.ir.scopes import is_private
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import children, collect, variables
from tilecore.lowering.analysis.first_reads import reads_first


def check_accumulations(func: PrimFunc) -> None:
    """Raises LanguageError where memory of a thread accumulates over iterations of T.Parallel and is read later."""
    if any(is_private(allocation.buffer) for allocation in collect(func.body, AllocBuffer)):
        _check(func.body, None)


@dataclass(frozen=True)
class _Later:
    """What runs after a statement: the statements of a sequence from a position on, and then the rest."""

    sequence: list[Stmt]
    position: int
    rest: _Later | None

    def __iter__(self) -> Iterator[Stmt]:
        yield from self.sequence[self.position :]
        if self.rest is not None:
            yield from self.rest


def _check(node: Stmt, later: _Later | None) -> None:
    if isinstance(node, SeqStmt):
        parts = list(node.seq)
        for position, part in enumerate(parts):
            _check(part, _Later(parts, position + 1, later))
    elif isinstance(node, For) and node.kind == ForKind.PARALLEL:
        _check_nest(node, later)
    elif isinstance(node, (For, While)):
        _check(node.body, _Later([node], 0, later))  # its next iteration
    else:
        for child in children(node):
            _check(child, later)


def _check_nest(nest: For, later: _Later | None) -> None:
    inside = {allocation.buffer for allocation in collect(nest, AllocBuffer)}
    body = innermost(nest).body
    scratch = [b for b in region_facts(nest).scratch if is_private(b) and b not in inside and reads_first(body, b)]
    if not scratch or later is None:
        return
    varying, after = _Varying(nest).buffers, seq(list(later))
    for buffer in scratch:
        if buffer in varying and reads_first(after, buffer):
            raise _refusal(nest, buffer)


class _Varying:
    """The variables and buffers of a nest whose values may differ between iterations."""

    def __init__(self, nest: For) -> None:
        self.variables: set[Var] = set()
        self.buffers: set[Var] = set()
        count = -1
        while len(self.variables) + len(self.buffers) > count:
            count = len(self.variables) + len(self.buffers)
            self._statement(nest, False)

    def _statement(self, node: Stmt, in_condition: bool) -> None:
        """in_condition: is the statement under a condition that may differ between iterations?"""
        if isinstance(node, For):
            if node.kind == ForKind.PARALLEL or self._differs(node.min) or self._differs(node.extent):
                self.variables.add(node.loop_var)
            in_condition = in_condition or self._differs(node.extent)
        elif isinstance(node, Bind):
            if in_condition or self._differs(node.value):
                self.variables.add(node.var)
        elif isinstance(node, BufferStore):
            if in_condition or self._differs(node.value) or not is_private(node.buffer):
                self.buffers.add(node.buffer)
        elif isinstance(node, (IfThenElse, While)):
            in_condition = in_condition or self._differs(node.condition)
        for child in children(node):
            self._statement(child, in_condition)

    def _differs(self, value: Expr) -> bool:
        if any(variable in self.variables for variable in variables(value)):
            return True
        if any(load.source in self.buffers for load in collect(value, TensorLoad)):
            return True
        return any(as_tile_call(call) is not None for call in collect(value, Call))


def _refusal(nest: For, buffer: Var) -> LanguageError:
    store = next(store for store in collect(nest, BufferStore) if store.buffer.same_as(buffer))
    return LanguageError(
        f"{buffer.name} is read after a T.Parallel loop whose iterations all change its value from before: they run at "
        "the same time, each with a copy of its own, so that none of the values is that of all iterations",
        expected="a reduction, or a loop whose iterations run one after the other",
        hint="T.reduce_sum (T.reduce_max, ...) of a tile, T.alloc_reducer, T.atomic_add, or a T.serial loop over the "
        "elements of the thread",
        location=location_of_span(store.span),
    )
