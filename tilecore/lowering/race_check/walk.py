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

from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import constant
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
from tilecore.lowering.race_check.asynchronous import Asynchronous
from tilecore.lowering.race_check.groups import Groups
from tilecore.lowering.race_check.memory import Memory
from tilecore.lowering.race_check.overwrites import flat_sequence, is_scalar
from tilecore.lowering.race_check.program import Program
from tilecore.lowering.race_check.records import Conflict, Site
from tilecore.lowering.race_check.values import UNKNOWN, Value

MAX_ITERATIONS = 48  # executed iterations of a loop with an unknown trip count, or whose effects do not repeat
MAX_JUMPING_ITERATIONS = (
    512  # executed iterations of a loop with jumps, because any iteration may be the one that jumps
)
PERIODS = range(1, 9)  # numbers of iterations after which the effects of a loop may repeat
MAX_VALUES = 1 << 19  # values that are computed together
State = Memory | None  # None: the code is unreachable
Path = tuple[Memory, dict[Any, Value]]  # the state at the end of a control flow path, and the values of names there


class Walk(Asynchronous):
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
        self.jumps: tuple[list[Path], list[Path]] = [], []  # by break, and by continue, of the innermost loop
        self.may_jump = False  # does the iteration stand for others, which may take jumps that it does not take?
        self.has_data_branch = False  # has a branch depended on data?
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
        return _merged_states([memory for memory, _ in paths])

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

    def _forget(self, node: Any) -> None:
        """Makes the names unknown that a statement may assign in iterations or on paths that are not executed."""
        for assignment in collect(node, Bind, BufferStore):
            name = assignment.var if isinstance(assignment, Bind) else assignment.buffer
            if name in self.program.needed:
                self.names[name] = UNKNOWN

    def _sequence(self, parts: list[Stmt], state: State, mask: Value, span: Any) -> State:
        while parts and state is not None:
            roles = self._roles(parts, mask)
            if not roles:
                state = self.statement(parts.pop(0), state, mask, span)
                continue
            state = _merged_states([self._role(role, mask, state, span) for role in roles])
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
                return _merged_states([self._role(side, side_mask, state, span) for side, side_mask in alive])
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

    # -- loops ----------------------------------------------------------------------------------------------------

    def _for(self, node: For, state: Memory, mask: Value, span: Any) -> State:
        for head in (node.min, node.extent):
            self.apply_effects(head, node, state, mask, span)
        first, count = (self.expressions.value(part, self.names) for part in (node.min, node.extent))
        first = UNKNOWN if np.ndim(first) else first
        if count is not UNKNOWN and np.ndim(count):
            count = int(np.max(count))
        if not self.program.orders(node.body):
            return self._all_iterations(node, first, count, state, mask, span)
        if first is UNKNOWN:
            first = 0 if constant(node.min) is None else constant(node.min)

        exits: list[Path] = []

        def run_iteration(index: int, entered: Memory) -> State:
            if count is UNKNOWN:
                exits.append(self._path(entered))
            self.names[node.loop_var] = first + index
            return self.statement(node.body, entered, mask, span)

        return self._iterate(run_iteration, None if count is UNKNOWN else int(count), state, node.body, exits)

    def _all_iterations(self, node: For, first: Value, count: Value, state: Memory, mask: Value, span: Any) -> State:
        """The state after a loop without barriers: all iterations are executed at once, in chunks of MAX_VALUES."""

        def execute(entered: Memory) -> State:
            if first is UNKNOWN or self._updates_needed_names(node):
                self._forget(node.body)
                self.names[node.loop_var] = UNKNOWN
                return self.statement(node.body, entered, mask, span)
            total = MAX_ITERATIONS * 8 if count is UNKNOWN else int(count)
            width = max(1, MAX_VALUES // (self._width() * 4))
            end: State = entered
            for start in range(0, total, width):
                iterations = first + np.arange(start, min(total, start + width))
                self.names[node.loop_var] = iterations.reshape(-1, *[1] * self.axes)
                self.axes += 1
                end = self.statement(node.body, entered if end is None else end, mask, span)
                self.axes -= 1
            return end

        after = self._loop_without_barriers(execute, state)
        self._forget(node.body)
        self.names[node.loop_var] = UNKNOWN
        return after

    def _loop_without_barriers(self, execute: Callable[[Memory], State], state: Memory) -> State:
        """The state after a loop without barriers.

        If its iterations take different paths, threads may be on any of them at the same time. So the loop is executed
        again from the merged state, which checks the accesses of each path against those of all others.
        """
        outer, self.jumps = self.jumps, ([], [])
        outer_branch, self.has_data_branch = self.has_data_branch, False
        after = self._merged_exits(execute(state), state)
        if self.has_data_branch or any(self.jumps):
            after = self._merged_exits(execute(after), after)
        self.jumps, self.has_data_branch = outer, self.has_data_branch or outer_branch
        return after

    def _merged_exits(self, after: State, before: Memory) -> Memory:
        """The merged states at the end of an iteration, at its jumps, and before it (for no iteration)."""
        jumped = [memory for paths in self.jumps for memory, _ in paths]
        merged = before if after is None or after is before else before.merged_with(after)
        for memory in jumped:
            merged = merged.merged_with(memory)
        return merged

    def _updates_needed_names(self, node: For) -> bool:
        """Do the iterations change a scalar on which addresses or the control flow depend?"""
        return any(s.buffer in self.program.needed and is_scalar(s.buffer) for s in collect(node.body, BufferStore))

    def _width(self) -> int:
        sizes = [int(np.size(value)) for value in self.names.values() if value is not UNKNOWN]
        return max([self.groups.threads, *sizes])

    def _while(self, node: While, state: Memory, mask: Value, span: Any) -> State:
        if not self.program.orders(node.body):

            def execute(entered: Memory) -> State:
                self._forget(node.body)
                self.apply_effects(node.condition, node, entered, mask, span)
                return self.statement(node.body, entered, mask, span)

            after = self._loop_without_barriers(execute, state)
            self._forget(node.body)
            return after
        exits: list[Path] = []

        def run_iteration(index: int, entered: Memory) -> State:
            self.apply_effects(node.condition, node, entered, mask, span)
            continues = self.expressions.value(node.condition, self.names)
            if continues is UNKNOWN or not np.all(continues):
                exits.append(self._path(entered))
            if continues is not UNKNOWN and not np.any(continues):
                return None
            return self.statement(node.body, entered, mask, span)

        return self._iterate(run_iteration, None, state, node.body, exits)

    def _iterate(
        self,
        run_iteration: Callable[[int, Memory], State],
        count: int | None,
        state: Memory,
        body: Stmt,
        exits: list[Path],
    ) -> State:
        """The state after a loop with barriers, which is executed iteration by iteration.

        When the effects of the iterations repeat, only the last ones remain to be executed. count: the trip count; None
        if it is unknown. exits: the paths on which the loop is left.
        """
        outer, self.jumps = self.jumps, ([], [])
        current: State = state
        seen: list[int] = []
        index, limit = 0, MAX_ITERATIONS if count is None else count
        jumps = self.program.jumps(body)
        while index < limit and current is not None:
            trace, self.trace = self.trace, current.digest()
            current = self._iteration(run_iteration, index, current)
            seen.append(self.trace)
            self.trace = crc32(b"step", trace ^ self.trace)
            index += 1
            period = 0 if jumps and index < MAX_JUMPING_ITERATIONS else _period(seen)
            if period and count is None:
                break
            if period and count is not None and count - index > 2 * period + 2:
                index = count - 2 - (count - 2 - index) % period - period
                seen.clear()
                current = self._representative_iterations(run_iteration, index, period, current) if jumps else current
        if (
            current is not None and count is None
        ):  # further iterations have the same effects, with other values of names
            current = self._representative_iterations(run_iteration, index, 1, current) if jumps else current
            self._forget(body)
        if current is not None:
            exits.append((current, self.names))
        exits += self.jumps[0]
        self.jumps = outer
        return self._merge_paths(exits)

    def _representative_iterations(
        self, run_iteration: Callable[[int, Memory], State], index: int, count: int, entered: State
    ) -> State:
        """Executes ``count`` iterations that stand for all skipped ones, of which each may take a jump."""
        outer, self.may_jump = self.may_jump, True
        current: State = entered
        for distance in range(count, 0, -1):
            if current is not None:
                current = self._iteration(run_iteration, index - distance, current)
        self.may_jump = outer
        return current

    def _iteration(self, run_iteration: Callable[[int, Memory], State], index: int, entered: Memory) -> State:
        """The state after one iteration of a loop, where the next one begins."""
        self.jumps[1].clear()
        end = run_iteration(index, entered)
        paths = [*self.jumps[1], *([] if end is None else [(end, self.names)])]
        return self._merge_paths(paths)


def _is_spread(chosen: Any) -> bool:
    """Are the chosen threads not contiguous, as one thread of each warp?"""
    first, last = np.argmax(chosen), len(chosen) - np.argmax(chosen[::-1])
    return bool(chosen.sum() != last - first)


def _period(seen: list[int]) -> int:
    """The number of iterations after which their effects repeat; 0 if they do not repeat."""
    for period in PERIODS:
        if len(seen) >= 2 * period + 1 and seen[-period:] == seen[-2 * period : -period]:
            return period
    return 0


def _merged_states(states: Sequence[State]) -> State:
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


def _select(mask: Value, value: Value, otherwise: Value) -> Value:
    """``value`` in the threads of the mask, and ``otherwise`` in the others."""
    if np.all(mask):
        return value
    return UNKNOWN if value is UNKNOWN or otherwise is UNKNOWN else np.where(mask, value, otherwise)
