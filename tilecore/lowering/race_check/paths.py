"""Control flow paths of the race check: the states where they meet, and the values of names there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilecore.ir.nodes import Bind, BufferStore, Stmt
from tilecore.ir.visit import collect
from tilecore.lowering.race_check.asynchronous import Asynchronous
from tilecore.lowering.race_check.memory import Memory
from tilecore.lowering.race_check.values import UNKNOWN, Value

State = Memory | None  # None: the code is unreachable
Path = tuple[Memory, dict[Any, Value]]  # the state at the end of a control flow path, and the values of names there


class Paths(Asynchronous):
    """The part of a walk that splits into paths and merges them; the class Walk sets its fields."""

    jumps: tuple[list[Path], list[Path]]  # by break, and by continue, of the innermost loop
    may_jump: bool  # does the iteration stand for others, which may take jumps that it does not take?
    has_data_branch: bool  # has a branch depended on data?

    def statement(self, node: Stmt, state: State, mask: Value, span: Any) -> State:
        """The state after ``node``. mask: the threads that execute it. span: the location of the enclosing code."""
        raise NotImplementedError

    def _path(self, state: Memory) -> Path:
        """The current path, as a copy that later statements do not change."""
        return state.copy(), dict(self.names)

    def _merge_paths(self, paths: Sequence[Path]) -> State:
        """The state where paths meet. Names keep their value if it is the same on all paths."""
        if paths:
            first = paths[0][1]
            others = [names for _, names in paths[1:]]
            keys = set(first).union(*others)
            self.names = {key: _common_value([values.get(key, UNKNOWN) for values in (first, *others)]) for key in keys}
        return merged_states([memory for memory, _ in paths])

    def _forget(self, node: Any) -> None:
        """Makes the names unknown that a statement may assign in iterations or on paths that are not executed."""
        for assignment in collect(node, Bind, BufferStore):
            name = assignment.var if isinstance(assignment, Bind) else assignment.buffer
            if name in self.program.needed:
                self.names[name] = UNKNOWN


def merged_states(states: Sequence[State]) -> State:
    merged: State = None
    for state in states:
        if state is not None:
            merged = state if merged is None else merged.merged_with(state)
    return merged


def _common_value(values: list[Value]) -> Value:
    """The common value of all of these; UNKNOWN if they differ."""
    first = values[0]
    are_equal = all(
        v is first or (v is not UNKNOWN and first is not UNKNOWN and np.array_equal(v, first)) for v in values[1:]
    )
    return first if are_equal else UNKNOWN
