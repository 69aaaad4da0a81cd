"""Moves held values (:mod:`tilecore.tracing.held_values`) back to their uses where the result is the same.

A held value stays a variable of its own where memory that it reads may have been written between the place at which
Python read it and a place at which it is used: by a statement in between, or by the body of a loop that the use is in
and the reading is not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tilecore.ir.build import is_nothing, seq
from tilecore.ir.memory_writes import Memory, Writes, writes_of
from tilecore.ir.nodes import (
    AttrStmt,
    Bind,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    While,
)
from tilecore.ir.visit import Substitution, collect
from tilecore.tracing.vectors import find_lanes

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder


def settle(body: Stmt, builder: Builder) -> Stmt:
    """The body with loads in place of held values, except of those whose memory may be written between the read and a
    use."""
    if not builder.readings.known:
        return body
    order = _Order(builder, Memory(body))
    order.visit(body)
    values = _values(order, builder)
    return _rebuilt(body, values, {reading.var for reading in builder.readings.known.values()})


@dataclass
class _Use:
    """A use of a held value."""

    time: int
    loops: tuple[int, ...]  # the enclosing loops, as indices into _Order.loops


@dataclass
class _Held:
    """A held value, with the time at which it is read and the loops around the read."""

    var: Var
    value: Expr
    time: int
    loops: tuple[int, ...]
    uses: list[_Use] = field(default_factory=list)


class _Order:
    """The statements of a function in order, each with a time, and the reads, uses and writes of held values."""

    def __init__(self, builder: Builder, memory: Memory) -> None:
        self.memory = memory
        self.readings = builder.readings
        self.vectors = {r.var for r in self.readings.known.values() if find_lanes(builder, r.var) is not None}
        self.time = 0
        self.open: tuple[int, ...] = ()
        self.loops: list[tuple[int, int]] = []  # first and last time
        self.held: dict[Var, _Held] = {}
        self.writes: dict[Writes, list[int]] = {}  # by what is written: the times, ascending
        self.writers: dict[Var, list[Writes]] = {}  # by buffer: those of self.writes that may write it

    def visit(self, node: Stmt) -> None:
        self.time += 1
        if isinstance(node, SeqStmt):
            for inner in node.seq:
                self.visit(inner)
        elif isinstance(node, (For, While)):
            self._loop(node)
        elif isinstance(node, IfThenElse):
            self._use(node.condition)
            self.visit(node.then_case)
            if node.else_case is not None:
                self.visit(node.else_case)
        elif isinstance(node, AttrStmt):
            self._use(node.value)
            self.visit(node.body)
        elif isinstance(node, Bind) and node.var in self.vectors:
            pass  # the stores of vectors contain the loads
        elif isinstance(node, Bind) and node.var in self.readings:
            self._use(node.value)
            self.held[node.var] = _Held(node.var, node.value, self.time, self.open)
        else:
            self._leaf(node)

    def _loop(self, node: For | While) -> None:
        loop_index = len(self.loops)
        self.loops.append((self.time, self.time))
        outer, self.open = self.open, (*self.open, loop_index)
        for value in (node.min, node.extent) if isinstance(node, For) else (node.condition,):
            self._use(value)  # emitted source may evaluate the bound before every iteration
        self.visit(node.body)
        self.loops[loop_index] = (self.loops[loop_index][0], self.time)
        self.open = outer

    def _leaf(self, node: Stmt) -> None:
        writes = writes_of(node)
        if writes != Writes():
            self.writes.setdefault(writes, []).append(self.time)
        if not isinstance(node, BufferStore):
            self.time += 1  # it may write element by element and evaluate its operands for each
        self._use(node)

    def _use(self, node: Any) -> None:
        for var in collect(node, Var):
            if var in self.held:
                self.held[var].uses.append(_Use(self.time, self.open))

    def written(self, buffer: Var, first: int, last: int) -> bool:
        """May the buffer be written after ``first`` and before ``last``?"""
        if buffer not in self.writers:
            candidates = self._candidates(self.memory.root(buffer))
            self.writers[buffer] = [writes for writes in candidates if self.memory.may_change(writes, buffer)]
        return any(_any_between(self.writes[writes], first, last) for writes in self.writers[buffer])

    def _candidates(self, root: Var) -> Iterable[Writes]:
        """Those of self.writes that may write the memory of a buffer: of all others it is certain that they do not."""
        candidates = dict.fromkeys([*self._writes_of.get(root, ()), *self._writes_of.get(None, ())])
        if root not in self.memory.allocated:  # it may alias another parameter
            candidates |= dict.fromkeys(w for w in self.writes if not w.buffers <= self.memory.allocated)
        return candidates

    @cached_property
    def _writes_of(self) -> dict[Var | None, list[Writes]]:
        """self.writes by the buffers whose memory they write; by None those that may write that of any."""
        writes_of: dict[Var | None, list[Writes]] = {}
        for writes in self.writes:
            is_wide = writes.others or writes.foreign
            for root in [None] if is_wide else {self.memory.root(buffer) for buffer in writes.buffers}:
                writes_of.setdefault(root, []).append(writes)
        return writes_of

    def is_stale(self, held_value: _Held, use: _Use, buffer: Var) -> bool:
        """May the buffer have been written between the read and the use?"""
        if self.written(buffer, held_value.time, use.time):
            return True
        enclosing = [self.loops[loop_index] for loop_index in use.loops if loop_index not in held_value.loops]
        return any(self.written(buffer, first, last + 1) for first, last in enclosing)


def _any_between(times: Any, first: int, last: int) -> bool:
    at = bisect_right(times, first)
    return at < len(times) and times[at] < last


def _values(order: _Order, builder: Builder) -> Substitution:
    """The replacement of each held variable: a new variable where it must stay, else its value."""
    stay: set[Var] = set()
    for held_value in reversed(order.held.values()):
        buffers = {load.source for load in collect(held_value.value, TensorLoad)}
        if any(order.is_stale(held_value, use, buffer) for buffer in buffers for use in held_value.uses):
            stay.add(held_value.var)
            continue
        for inner in collect(held_value.value, Var):  # held values inside it are used wherever it is used
            if inner in order.held:
                order.held[inner].uses += held_value.uses
    values = Substitution()
    for held_value in order.held.values():
        value = values(held_value.value)
        if held_value.var in stay:
            value = Var(builder.unique(str(held_value.var.name)), held_value.var.ty)
        values.add(held_value.var, value)
    return values


def _rebuilt(node: Stmt, values: Substitution, held_vars: set[Var]) -> Stmt:
    if isinstance(node, SeqStmt):
        statements = [_rebuilt(inner, values, held_vars) for inner in node.seq]
        remaining = [
            new for new, old in zip(statements, node.seq, strict=True) if not is_nothing(new) or is_nothing(old)
        ]
        return SeqStmt(remaining, span=node.span) if len(remaining) > 1 else seq(remaining)
    if isinstance(node, Bind) and node.var in held_vars:
        replacement = values.get(node.var)
        if isinstance(replacement, Var) and replacement not in held_vars:
            return Bind(replacement, values(node.value), span=node.span)
        return seq([])
    return _with_values(node, values, held_vars)


def _with_values(node: Stmt, values: Substitution, held_vars: set[Var]) -> Stmt:
    if isinstance(node, For):
        body = _rebuilt(node.body, values, held_vars)
        low, extent = values(node.min), values(node.extent)
        return For(node.loop_var, low, extent, node.kind, body, annotations=node.annotations, span=node.span)
    if isinstance(node, While):
        return While(values(node.condition), _rebuilt(node.body, values, held_vars), span=node.span)
    if isinstance(node, IfThenElse):
        other = None if node.else_case is None else _rebuilt(node.else_case, values, held_vars)
        if other is not None and is_nothing(other):
            other = None
        then_case = _rebuilt(node.then_case, values, held_vars)
        return IfThenElse(values(node.condition), then_case, other, span=node.span)
    if isinstance(node, AttrStmt):
        body = _rebuilt(node.body, values, held_vars)
        return AttrStmt(node.node, node.attr_key, values(node.value), body, span=node.span)
    return values(node) if any(var in held_vars for var in collect(node, Var)) else node
