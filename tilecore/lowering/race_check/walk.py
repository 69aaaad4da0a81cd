"""Goes through a kernel's code with all threads of a block at once, and reports accesses that nothing orders.

Loops without barriers are taken in one go, all steps at once: what they touch between two barriers is what counts.
Loops with barriers go step by step until their steps repeat. Where a way depends on data both are gone, and what is
open on either goes on.
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
from tilecore.lowering.race_check.effects import VALUES
from tilecore.lowering.race_check.groups import Groups
from tilecore.lowering.race_check.memory import Memory
from tilecore.lowering.race_check.program import Program, is_scalar
from tilecore.lowering.race_check.records import Conflict, Site
from tilecore.lowering.race_check.values import UNKNOWN, Expressions, Value

STEPS = 48  # of a loop whose end is not known, or that does not repeat itself
JUMPING_STEPS = 512  # of a loop with jumps that are looked at one by one: each may be the one that jumps
PERIODS = range(1, 9)  # steps after which a loop may repeat itself
MOST = 1 << 19  # values that are looked at in one go
State = Memory | None  # None: no thread comes here
Way = tuple[Memory, dict[Any, Value]]  # what is open at a place, and the values of names there


class Walk(Asynchronous):
    """report: is told of each conflict."""

    def __init__(self, program: Program, warp: int, report: Callable[[Conflict], None]) -> None:
        self.program, self.report = program, report
        self.groups = Groups(program.count, warp)
        self.accesses = Accesses(program)
        self.expressions = Expressions(VALUES, program.start_of)
        self.names: dict[Any, Value] = self._threads()
        self.axes = 1
        self.sites: list[Site] = [Site(0, "", None)]
        self._planned = {}
        self.described: dict[Any, Any] = {}
        self.trace = 0
        self.nest = 0
        self.before: Memory | None = None
        self.jumps: tuple[list[Way], list[Way]] = [], []  # out of the innermost loop, and to the end of its step
        self.may_jump = False  # does the step stand for others, of which any may take a jump that it does not take?
        self.has_forked = False  # have there been ways of which some threads or some steps take only one?
        self.in_role = False
        self.everybody = np.ones(self.groups.threads, bool)

    def _threads(self) -> dict[Any, Value]:
        found, step = {}, 1
        numbers = np.arange(self.groups.threads)
        for var, extent in zip(self.program.thread_vars, self.program.threads, strict=True):
            found[var] = numbers // step % extent
            step *= extent
        return found

    def run(self) -> None:
        memory = Memory(self.groups, -(-self.program.bytes // self.program.cell))
        self.statement(self.program.body, memory, True, None)

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, node: Stmt, state: State, mask: Value, span: Any) -> State:
        """The state behind ``node``. mask: which threads come to it. span: where the code around it stands."""
        if state is None:
            return None
        span = getattr(node, "span", None) or span
        if isinstance(node, SeqStmt):
            return self._sequence(_flat(node), state, mask, span)
        if isinstance(node, (Break, Continue)):
            self.jumps[isinstance(node, Continue)].append(self._way(state))
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

    def _way(self, state: Memory) -> Way:
        """What is known here, as it stays while other threads go on."""
        return state.copy(), dict(self.names)

    def _met(self, ways: Sequence[Way]) -> State:
        """The state where ways meet; names keep the values that they have on all of them."""
        if ways:
            first = ways[0][1]
            others = [names for _, names in ways[1:]]
            keys = set(first).union(*others)
            self.names = {key: _one_value([way.get(key, UNKNOWN) for way in (first, *others)]) for key in keys}
        return _joined([memory for memory, _ in ways])

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
        """What it gives the names that matter, in the threads that come to it."""
        if isinstance(node, Bind):
            if node.var in self.program.needed:
                self.names[node.var] = self.expressions.value(node.value, self.names)
        elif isinstance(node, BufferStore):
            if node.buffer in self.program.needed and is_scalar(node.buffer):
                value = self.expressions.value(node.value, self.names)
                self.names[node.buffer] = _where(mask, value, self.names.get(node.buffer, UNKNOWN))
        else:
            self._forget(node)

    def _forget(self, node: Any) -> None:
        """What it may give them, in steps or on a way that is not followed."""
        for each in collect(node, Bind, BufferStore):
            name = each.var if isinstance(each, Bind) else each.buffer
            if name in self.program.needed:
                self.names[name] = UNKNOWN

    def _sequence(self, parts: list[Stmt], state: State, mask: Value, span: Any) -> State:
        while parts and state is not None:
            roles = self._roles(parts, mask)
            if not roles:
                state = self.statement(parts.pop(0), state, mask, span)
                continue
            state = _joined([self._role(role, mask, state, span) for role in roles])
            del parts[: len(roles)]
        return state

    def _roles(self, parts: list[Stmt], mask: Value) -> list[Stmt]:
        """The first statements, where each is the code of threads that no other one of them has, and some wait."""
        taken = np.zeros(self.groups.threads, bool)
        found: list[Stmt] = []
        for part in parts:
            chosen = self._role_of(part, mask)
            if chosen is None or (chosen & taken).any():
                break
            found.append(part)
            taken |= chosen
        if len(found) == 1 and taken.sum() < self.groups.warp:
            return []
        return found

    def _role_of(self, node: Stmt, mask: Value) -> Any:
        """The threads that a condition names, where its code waits or starts something; None for other code."""
        if not isinstance(node, IfThenElse) or node.else_case is not None or not self.program.orders(node):
            return None
        chosen = self.expressions.value(node.condition, self.names)
        if chosen is UNKNOWN or np.ndim(chosen) != 1:
            return None
        chosen = np.broadcast_to(np.logical_and(chosen, mask), (self.groups.threads,))
        whole = np.broadcast_to(mask, chosen.shape)
        return None if not chosen.any() or np.array_equal(chosen, whole) or _is_spread(chosen) else chosen

    def _are_roles(self, node: IfThenElse, chosen: Value) -> bool:
        """Do some threads one thing, and the others, beside them in the block, another in which they wait?"""
        if node.else_case is None or not self.program.orders(node) or np.ndim(chosen) != 1:
            return False
        return not _is_spread(chosen) or not _is_spread(~chosen)

    def _role(self, node: Stmt, mask: Value, state: Memory, span: Any) -> State:
        """Roles run at the same time: each begins with what was open before the first."""
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
            alive = [(side, way) for side, way in sides if np.any(way)]
            if len(alive) > 1 and self._are_roles(node, chosen):
                return _joined([self._role(side, way, state, span) for side, way in alive])
            after: State = state
            for side, way in alive:
                if side is not None:
                    end = self.statement(side, after, way, span)
                    after = after if end is None and len(alive) > 1 else end
            return after
        if not self.program.orders(node) and self.program.varies(node.condition):
            for side in (node.then_case, node.else_case):  # some threads go one way, others the other
                if side is not None:
                    state = self.statement(side, state, mask, span) or state
            self._forget(node)
            return state
        self.has_forked = True
        ways: list[Way] = []
        names = self.names
        for side in (node.then_case, node.else_case):
            self.names = dict(names)
            after_side: State = state.copy()
            if side is not None:
                after_side = self.statement(side, state.copy(), mask, span)
            if after_side is not None:
                ways.append((after_side, self.names))
        return self._met(ways)

    # -- loops ----------------------------------------------------------------------------------------------------

    def _for(self, node: For, state: Memory, mask: Value, span: Any) -> State:
        for head in (node.min, node.extent):
            self.apply_effects(head, node, state, mask, span)
        first, count = (self.expressions.value(part, self.names) for part in (node.min, node.extent))
        first = UNKNOWN if np.ndim(first) else first
        if count is not UNKNOWN and np.ndim(count):
            count = int(np.max(count))
        if not self.program.orders(node.body):
            return self._at_once(node, first, count, state, mask, span)
        if first is UNKNOWN:
            first = 0 if constant(node.min) is None else constant(node.min)

        left: list[Way] = []

        def step(number: int, at: Memory) -> State:
            if count is UNKNOWN:
                left.append(self._way(at))
            self.names[node.loop_var] = first + number
            return self.statement(node.body, at, mask, span)

        return self._steps(step, None if count is UNKNOWN else int(count), state, node.body, left)

    def _at_once(self, node: For, first: Value, count: Value, state: Memory, mask: Value, span: Any) -> State:
        """A loop in which nobody waits: all of its steps, or one by one where they are too many or count on."""

        def steps(entered: Memory) -> State:
            if first is UNKNOWN or self._is_counted(node):
                self._forget(node.body)
                self.names[node.loop_var] = UNKNOWN
                return self.statement(node.body, entered, mask, span)
            total = STEPS * 8 if count is UNKNOWN else int(count)
            width = max(1, MOST // (self._width() * 4))
            end: State = entered
            for start in range(0, total, width):
                numbers = first + np.arange(start, min(total, start + width))
                self.names[node.loop_var] = numbers.reshape(-1, *[1] * self.axes)
                self.axes += 1
                end = self.statement(node.body, entered if end is None else end, mask, span)
                self.axes -= 1
            return end

        after = self._unordered(steps, state)
        self._forget(node.body)
        self.names[node.loop_var] = UNKNOWN
        return after

    def _unordered(self, steps: Callable[[Memory], State], state: Memory) -> State:
        """Behind a loop in which nobody waits. Where its steps go different ways, threads may be on any of them at the
        same time: what is open on one is held against all others."""
        outer, self.jumps = self.jumps, ([], [])
        forked, self.has_forked = self.has_forked, False
        after = self._behind(steps(state), state)
        if self.has_forked or any(self.jumps):
            after = self._behind(steps(after), after)
        self.jumps, self.has_forked = outer, self.has_forked or forked
        return after

    def _behind(self, after: State, before: Memory) -> Memory:
        """All that is open where a step ends, where a jump leaves it, or where there was none."""
        jumped = [memory for ways in self.jumps for memory, _ in ways]
        found = before if after is None or after is before else before.joined(after)
        for memory in jumped:
            found = found.joined(memory)
        return found

    def _is_counted(self, node: For) -> bool:
        """Do its steps change something that places depend on?"""
        return any(s.buffer in self.program.needed and is_scalar(s.buffer) for s in collect(node.body, BufferStore))

    def _width(self) -> int:
        sizes = [int(np.size(value)) for value in self.names.values() if value is not UNKNOWN]
        return max([self.groups.threads, *sizes])

    def _while(self, node: While, state: Memory, mask: Value, span: Any) -> State:
        if not self.program.orders(node.body):

            def steps(entered: Memory) -> State:
                self._forget(node.body)
                self.apply_effects(node.condition, node, entered, mask, span)
                return self.statement(node.body, entered, mask, span)

            after = self._unordered(steps, state)
            self._forget(node.body)
            return after
        left: list[Way] = []

        def step(number: int, at: Memory) -> State:
            self.apply_effects(node.condition, node, at, mask, span)
            goes_on = self.expressions.value(node.condition, self.names)
            if goes_on is UNKNOWN or not np.all(goes_on):
                left.append(self._way(at))
            if goes_on is not UNKNOWN and not np.any(goes_on):
                return None
            return self.statement(node.body, at, mask, span)

        return self._steps(step, None, state, node.body, left)

    def _steps(
        self, step: Callable[[int, Memory], State], count: int | None, state: Memory, body: Stmt, ends: list[Way]
    ) -> State:
        """Step by step; count: None where it is not known. When steps repeat themselves, the last ones remain. ends:
        where the loop is left."""
        outer, self.jumps = self.jumps, ([], [])
        current: State = state
        seen: list[int] = []
        number, most = 0, STEPS if count is None else count
        jumps = self.program.jumps(body)
        while number < most and current is not None:
            trace, self.trace = self.trace, current.digest()
            current = self._step(step, number, current)
            seen.append(self.trace)
            self.trace = crc32(b"step", trace ^ self.trace)
            number += 1
            period = 0 if jumps and number < JUMPING_STEPS else _period(seen)
            if period and count is None:
                break
            if period and count is not None and count - number > 2 * period + 2:
                number = count - 2 - (count - 2 - number) % period - period
                seen.clear()
                current = self._any_steps(step, number, period, current) if jumps else current
        if current is not None and count is None:  # further steps are like these, but for what they count
            current = self._any_steps(step, number, 1, current) if jumps else current
            self._forget(body)
        if current is not None:
            ends.append((current, self.names))
        ends += self.jumps[0]
        self.jumps = outer
        return self._met(ends)

    def _any_steps(self, step: Callable[[int, Memory], State], number: int, count: int, entered: State) -> State:
        """Some steps in the place of all that are like them, of which each may jump."""
        outer, self.may_jump = self.may_jump, True
        current: State = entered
        for before in range(count, 0, -1):
            if current is not None:
                current = self._step(step, number - before, current)
        self.may_jump = outer
        return current

    def _step(self, step: Callable[[int, Memory], State], number: int, entered: Memory) -> State:
        """A step of a loop, and what is open where the next one begins."""
        self.jumps[1].clear()
        end = step(number, entered)
        ways = [*self.jumps[1], *([] if end is None else [(end, self.names)])]
        return self._met(ways)


def _flat(node: SeqStmt) -> list[Stmt]:
    return [each for part in node.seq for each in (_flat(part) if isinstance(part, SeqStmt) else [part])]


def _is_spread(chosen: Any) -> bool:
    """Are they no neighbours: one thread of each warp, say?"""
    first, last = np.argmax(chosen), len(chosen) - np.argmax(chosen[::-1])
    return bool(chosen.sum() != last - first)


def _period(seen: list[int]) -> int:
    """After how many steps they repeat, where they have done so; 0: they have not."""
    for period in PERIODS:
        if len(seen) >= 2 * period + 1 and seen[-period:] == seen[-2 * period : -period]:
            return period
    return 0


def _joined(states: Sequence[State]) -> State:
    found: State = None
    for state in states:
        if state is not None:
            found = state if found is None else found.joined(state)
    return found


def _one_value(values: list[Value]) -> Value:
    """The value that all of these are; UNKNOWN where they differ."""
    first = values[0]
    same = all(
        v is first or (v is not UNKNOWN and first is not UNKNOWN and np.array_equal(v, first)) for v in values[1:]
    )
    return first if same else UNKNOWN


def _where(mask: Value, value: Value, otherwise: Value) -> Value:
    """``value`` in the threads of the mask, in others what it was."""
    if np.all(mask):
        return value
    return UNKNOWN if value is UNKNOWN or otherwise is UNKNOWN else np.where(mask, value, otherwise)
