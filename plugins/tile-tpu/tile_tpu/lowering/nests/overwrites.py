"""Which values an iteration still needs when it has already written to the memory that they were read from.

Each statement of a nest is done for all iterations before the next one, and a value that was only read is no copy: it
is a view of the memory itself. The iteration means what it held at that moment. So a name, or the condition of an
``if``, has to be a copy where a later statement writes to memory that it reads, and a statement after that (or the next
step of a loop inside) uses it again. This one analysis decides it for both; everything else is read where it is used.
Stores are all that can write here: nests with other effects are left to the control core.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilecore.ir.nodes import Bind, BufferStore, For, IfThenElse, Stmt, Var
from tilecore.ir.visit import children, loads, variables


@dataclass
class _Tracked:
    """reads: memory that the value reads. stale: some of it has been written since."""

    reads: frozenset[Var]
    stale: bool = False


@dataclass
class Overwrites:
    """Of the body of a nest. names: bound names that have to be copies; conditions: those of ``if`` statements."""

    names: set[Var] = field(default_factory=set)
    conditions: set[IfThenElse] = field(default_factory=set)
    _tracked: dict[Any, _Tracked] = field(default_factory=dict)

    def keeps(self, statement: Bind | IfThenElse) -> bool:
        """Whether the value of the name, or of the condition, has to be a copy."""
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
            for _ in range(2):  # what a step writes, the next one finds
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
        """The memory that a value reads, by the names in it too."""
        loaded = {load.source for load in loads(value)}
        return frozenset(loaded).union(*(self._tracked[var].reads for var in variables(value) if var in self._tracked))


def overwrites_of(body: Stmt) -> Overwrites:
    overwrites = Overwrites()
    overwrites._walk(body, ())
    return overwrites
