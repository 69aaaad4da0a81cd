"""Finds the values that must be copied because the memory that they were read from is overwritten before their last
use.

Each statement of a nest runs for all iterations before the next one. A value that was loaded is no copy, but a view of
the memory. So a bound variable, or the condition of an ``if``, must be a copy where a later statement writes memory
that it reads, and a statement after that (or the next iteration of an inner loop) uses it again. All other values are
used by the statement that reads them. Only stores can write here: nests with other side effects stay with the control
core.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilecore.ir.nodes import Bind, BufferStore, For, IfThenElse, Stmt, Var
from tilecore.ir.visit import children, loads, variables


@dataclass
class _Tracked:
    """A bound value or condition. reads: the memory that it reads. stale: some of that memory has been written
    since."""

    reads: frozenset[Var]
    stale: bool = False


@dataclass
class Overwrites:
    """The values of a nest's body that must be copies. names: bound variables. conditions: ``if`` statements whose
    condition must be a copy."""

    names: set[Var] = field(default_factory=set)
    conditions: set[IfThenElse] = field(default_factory=set)
    _tracked: dict[Any, _Tracked] = field(default_factory=dict)

    def needs_copy(self, statement: Bind | IfThenElse) -> bool:
        """Whether the value of the variable, or of the condition, must be a copy."""
        return statement.var in self.names if isinstance(statement, Bind) else statement in self.conditions

    def _walk(self, node: Stmt, around: tuple[IfThenElse, ...]) -> None:
        if isinstance(node, Bind):
            self._use(node.value)
            self._tracked[node.var] = _Tracked(self._read_by(node.value))
        elif isinstance(node, BufferStore):
            self._store(node, around)
        elif isinstance(node, IfThenElse):
            self._use(node.condition)
            self._tracked[node] = _Tracked(self._read_by(node.condition))
            for branch in (node.then_case, node.else_case):
                if branch is not None:
                    self._walk(branch, (*around, node))
        elif isinstance(node, For):
            self._use(node.min)
            self._use(node.extent)
            for _ in range(2):  # the second walk finds uses of what the iteration before has overwritten
                self._walk(node.body, around)
        else:
            for child in children(node):
                self._walk(child, around)

    def _store(self, node: BufferStore, around: tuple[IfThenElse, ...]) -> None:
        for value in (node.value, *node.indices):
            self._use(value)
        for statement in around:
            if self._tracked[statement].stale:
                self.conditions.add(statement)
            self._use(statement.condition)
        for tracked in self._tracked.values():
            tracked.stale |= node.buffer in tracked.reads

    def _use(self, value: Any) -> None:
        if not isinstance(value, int):
            self.names |= {var for var in variables(value) if var in self._tracked and self._tracked[var].stale}

    def _read_by(self, value: Any) -> frozenset[Var]:
        """The memory that a value reads, directly or through bound variables."""
        loaded = {load.source for load in loads(value)}
        return frozenset(loaded).union(*(self._tracked[var].reads for var in variables(value) if var in self._tracked))


def overwrites_of(body: Stmt) -> Overwrites:
    overwrites = Overwrites()
    overwrites._walk(body, ())
    return overwrites
