"""Abstract interpretation of a kernel: executes its code for all threads of a block at once, and reports races.

The abstract state (memory.py) holds for each cell of shared memory the accesses since the last barrier. Integer values
are computed for all threads together (values.py), as far as they do not depend on data.

- A loop without barriers is executed for all of its iterations at once, because nothing orders them.
- A loop with barriers is executed iteration by iteration, until the effects of its iterations repeat with some period.
- An ``if`` with a known condition executes each side with its threads. If the condition depends on data, both sides are
  executed, and their states are merged.
- Roles (warp specialization) run concurrently: each starts from the state before the first, and their states are
  merged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilecore.ir.attributes import StatementAttr
from tilecore.ir.nodes import (
    AttrStmt,
    Bind,
    Break,
    BufferStore,
    Continue,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
    While,
)
from tilecore.ir.visit import collect
from tilecore.lowering.race_check.accesses import Accesses
from tilecore.lowering.race_check.groups import Groups
from tilecore.lowering.race_check.loops import Loops
from tilecore.lowering.race_check.memory import Memory
from tilecore.lowering.race_check.overwrites import flat_sequence, is_scalar
from tilecore.lowering.race_check.paths import Path, State, merged_states
from tilecore.lowering.race_check.program import Program
from tilecore.lowering.race_check.records import Conflict, Site
from tilecore.lowering.race_check.values import UNKNOWN, Value


class Walk(Loops):
    """The interpreter of one kernel. report: the function that receives each conflict."""

    def __init__(self, program: Program, warp: int, report: Callable[[Conflict], None]) -> None:
        self.program, self.report = program, report
        self.groups = Groups(program.count, warp)
        self.accesses = Accesses(program)
        self.expressions = program.expressions
        self.names: dict[Any, Value] = dict(program.thread_values)
        self.axes = 1
        self.sites: list[Site] = [Site(0, "", None)]
        self._planned = {}
        self.described: dict[Any, Any] = {}
        self.trace = 0
        self.nest = 0
        self.before: Memory | None = None
        self.jumps = [], []
        self.may_jump = False
        self.has_data_branch = False
        self.in_role = False
        self.all_threads = np.ones(self.groups.threads, bool)

    def run(self) -> None:
        memory = Memory(self.groups, -(-self.program.bytes // self.program.cell))
        self.statement(self.program.body, memory, True, None)

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, node: Stmt, state: State, mask: Value, span: Any) -> State:
        """The state after ``node``. mask: the threads that execute it. span: the location of the enclosing code."""
        if state is None:
            return None
        span = getattr(node, "span", None) or span
        if isinstance(node, SeqStmt):
            return self._sequence(flat_sequence(node), state, mask, span)
        if isinstance(node, (Break, Continue)):
            self.jumps[isinstance(node, Continue)].append(self._path(state))
            return None
        if not self.program.accesses_shared(node) and not self.program.jumps(node):
            self._assign(node, mask)
            return state
        if isinstance(node, For):
            return self._for(node, state, mask, span)
        if isinstance(node, While):
            return self._while(node, state, mask, span)
        if isinstance(node, IfThenElse):
            return self._branch(node, state, mask, span)
        if isinstance(node, AttrStmt):
            return self._attribute(node, state, mask, span)
        self.apply_effects(node, node, state, mask, span)
        self._assign(node, mask)
        return state

    def _attribute(self, node: AttrStmt, state: Memory, mask: Value, span: Any) -> State:
        if node.attr_key != StatementAttr.NEST or self.nest:
            return self.statement(node.body, state, mask, span)
        self.nest, self.before = len(self.sites), state.copy() if self._scatters(node) else None
        state_after = self.statement(node.body, state, mask, span)
        self.nest, self.before = 0, None
        return state_after

    def _scatters(self, node: AttrStmt) -> bool:
        return any(self.program.start_of(store.buffer) is not None for store in collect(node, BufferStore))

    def _assign(self, node: Stmt, mask: Value) -> None:
        """Updates the values of names that a statement assigns. mask: the threads that execute it."""
        if isinstance(node, Bind):
            if node.var in self.program.needed:
                self.names[node.var] = self.expressions.value(node.value, self.names)
        elif isinstance(node, BufferStore):
            if node.buffer in self.program.needed and is_scalar(node.buffer):
                value = self.expressions.value(node.value, self.names)
                self.names[node.buffer] = _select(mask, value, self.names.get(node.buffer, UNKNOWN))
        else:
            self._forget(node)

    def _sequence(self, parts: list[Stmt], state: State, mask: Value, span: Any) -> State:
        while parts and state is not None:
            roles = self._roles(parts, mask)
            if not roles:
                state = self.statement(parts.pop(0), state, mask, span)
                continue
            state = merged_states([self._role(role, mask, state, span) for role in roles])
            del parts[: len(roles)]
        return state

    def _roles(self, parts: list[Stmt], mask: Value) -> list[Stmt]:
        """The longest prefix of ``parts`` whose statements are roles of disjoint threads; [] if there are no roles."""
        assigned = np.zeros(self.groups.threads, bool)
        roles: list[Stmt] = []
        for part in parts:
            chosen = self._role_of(part, mask)
            if chosen is None or (chosen & assigned).any():
                break
            roles.append(part)
            assigned |= chosen
        if len(roles) == 1 and assigned.sum() < self.groups.warp:
            return []
        return roles

    def _role_of(self, node: Stmt, mask: Value) -> Any:
        """The threads of a role: of an ``if`` whose code has barriers or asynchronous work; None for other code."""
        if not isinstance(node, IfThenElse) or node.else_case is not None or not self.program.orders(node):
            return None
        chosen = self.expressions.value(node.condition, self.names)
        if chosen is UNKNOWN or np.ndim(chosen) != 1:
            return None
        chosen = np.broadcast_to(np.logical_and(chosen, mask), (self.groups.threads,))
        whole = np.broadcast_to(mask, chosen.shape)
        return None if not chosen.any() or np.array_equal(chosen, whole) or _is_spread(chosen) else chosen

    def _are_roles(self, node: IfThenElse, chosen: Value) -> bool:
        """Are the sides of an ``if`` with barriers or asynchronous work two roles of contiguous threads?"""
        if node.else_case is None or not self.program.orders(node) or np.ndim(chosen) != 1:
            return False
        return not _is_spread(chosen) or not _is_spread(~chosen)

    def _role(self, node: Stmt, mask: Value, state: Memory, span: Any) -> State:
        """The state after a role. Roles run concurrently, so each starts from the state before the first one."""
        outer, self.in_role = self.in_role, True
        end = self.statement(node, state.copy(), mask, span)
        self.in_role = outer
        return end

    def _branch(self, node: IfThenElse, state: Memory, mask: Value, span: Any) -> State:
        self.apply_effects(node.condition, node, state, mask, span)
        chosen = self.expressions.value(node.condition, self.names)
        if self.may_jump and self.program.jumps(node) and np.ndim(chosen) == 0:
            chosen = UNKNOWN
        if chosen is not UNKNOWN:
            yes, no = np.logical_and(mask, chosen), np.logical_and(mask, np.logical_not(chosen))
            sides = [(node.then_case, yes), (node.else_case, no)]
            alive = [(side, side_mask) for side, side_mask in sides if np.any(side_mask)]
            if len(alive) > 1 and self._are_roles(node, chosen):
                return merged_states([self._role(side, side_mask, state, span) for side, side_mask in alive])
            after: State = state
            for side, side_mask in alive:
                if side is not None:
                    end = self.statement(side, after, side_mask, span)
                    after = after if end is None and len(alive) > 1 else end
            return after
        if not self.program.orders(node) and self.program.varies(node.condition):
            for side in (node.then_case, node.else_case):  # some threads execute one side, and others the other
                if side is not None:
                    state = self.statement(side, state, mask, span) or state
            self._forget(node)
            return state
        self.has_data_branch = True
        paths: list[Path] = []
        names = self.names
        for side in (node.then_case, node.else_case):
            self.names = dict(names)
            after_side: State = state.copy()
            if side is not None:
                after_side = self.statement(side, state.copy(), mask, span)
            if after_side is not None:
                paths.append((after_side, self.names))
        return self._merge_paths(paths)


def _is_spread(chosen: Any) -> bool:
    """Are the chosen threads not contiguous, as one thread of each warp?"""
    first, last = np.argmax(chosen), len(chosen) - np.argmax(chosen[::-1])
    return bool(chosen.sum() != last - first)


def _select(mask: Value, value: Value, otherwise: Value) -> Value:
    """``value`` in the threads of the mask, and ``otherwise`` in the others."""
    if np.all(mask):
        return value
    return UNKNOWN if value is UNKNOWN or otherwise is UNKNOWN else np.where(mask, value, otherwise)
