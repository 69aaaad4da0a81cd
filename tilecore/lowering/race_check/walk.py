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
from tilecore.lowering.race_check.program import NEST, Program, is_scalar
from tilecore.lowering.race_check.records import Conflict, Site
from tilecore.lowering.race_check.values import UNKNOWN, Expressions, Value

STEPS = 48  # of a loop whose end is not known, or that does not repeat itself
PERIODS = range(1, 9)  # steps after which a loop may repeat itself
MOST = 1 << 19  # values that are looked at in one go
State = Memory | None  # None: no thread comes here


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
        self.jumps: tuple[list[Memory], list[Memory]] = [], []
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
            self.jumps[isinstance(node, Continue)].append(state)
            return None
        if not self.program.accesses_shared(node):
            self._assign(node)
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
        self._assign(node)
        return state

    def _attribute(self, node: AttrStmt, state: Memory, mask: Value, span: Any) -> State:
        if node.attr_key != NEST or self.nest:
            return self.statement(node.body, state, mask, span)
        self.nest, self.before = len(self.sites), state.copy() if self._scatters(node) else None
        state_after = self.statement(node.body, state, mask, span)
        self.nest, self.before = 0, None
        return state_after

    def _scatters(self, node: AttrStmt) -> bool:
        return any(self.program.start_of(store.buffer) is not None for store in collect(node, BufferStore))

    def _assign(self, node: Stmt) -> None:
        """What it gives the names that matter."""
        if isinstance(node, Bind):
            if node.var in self.program.needed:
                self.names[node.var] = self.expressions.value(node.value, self.names)
        elif isinstance(node, BufferStore):
            if node.buffer in self.program.needed and is_scalar(node.buffer):
                self.names[node.buffer] = self.expressions.value(node.value, self.names)
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
        names, outer = dict(self.names), self.in_role
        self.in_role = True
        end = self.statement(node, state.copy(), mask, span)
        self.in_role, self.names = outer, names
        return end

    def _branch(self, node: IfThenElse, state: Memory, mask: Value, span: Any) -> State:
        self.apply_effects(node.condition, node, state, mask, span)
        chosen = self.expressions.value(node.condition, self.names)
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
        ends, names = [], dict(self.names)
        for side in (node.then_case, node.else_case):
            self.names = dict(names)
            ends.append(state.copy() if side is None else self.statement(side, state.copy(), mask, span))
        self.names = names
        self._forget(node)
        return _joined(ends)

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

        def step(number: int, at: Memory) -> State:
            self.names[node.loop_var] = first + number
            return self.statement(node.body, at, mask, span)

        return self._steps(step, None if count is UNKNOWN else int(count), state)

    def _at_once(self, node: For, first: Value, count: Value, state: Memory, mask: Value, span: Any) -> State:
        """A loop in which nobody waits: all of its steps, or one by one where they are too many or count on."""
        outer, self.jumps = self.jumps, ([], [])
        known = self._is_counted(node)
        if first is UNKNOWN or known:
            self._forget(node.body)
            self.names[node.loop_var] = UNKNOWN
            end = self.statement(node.body, state, mask, span)
        else:
            total = STEPS * 8 if count is UNKNOWN else int(count)
            width = max(1, MOST // (self._width() * 4))
            end = state
            for start in range(0, total, width):
                numbers = first + np.arange(start, min(total, start + width))
                self.names[node.loop_var] = numbers.reshape(-1, *[1] * self.axes)
                self.axes += 1
                end = self.statement(node.body, state, mask, span)
                self.axes -= 1
        self.names[node.loop_var] = UNKNOWN
        self.jumps = outer
        return state if end is None else end

    def _is_counted(self, node: For) -> bool:
        """Do its steps change something that places depend on?"""
        return any(s.buffer in self.program.needed and is_scalar(s.buffer) for s in collect(node.body, BufferStore))

    def _width(self) -> int:
        sizes = [int(np.size(value)) for value in self.names.values() if value is not UNKNOWN]
        return max([self.groups.threads, *sizes])

    def _while(self, node: While, state: Memory, mask: Value, span: Any) -> State:
        if not self.program.orders(node.body):
            self._forget(node.body)
            outer, self.jumps = self.jumps, ([], [])
            self.apply_effects(node.condition, node, state, mask, span)
            end = self.statement(node.body, state, mask, span)
            self.jumps = outer
            return state if end is None else end
        left: list[Memory] = []

        def step(number: int, at: Memory) -> State:
            self.apply_effects(node.condition, node, at, mask, span)
            goes_on = self.expressions.value(node.condition, self.names)
            if goes_on is UNKNOWN or not np.all(goes_on):
                left.append(at.copy())
            if goes_on is not UNKNOWN and not np.any(goes_on):
                return None
            return self.statement(node.body, at, mask, span)

        self._steps(step, None, state)
        return _joined(left)

    def _steps(self, step: Callable[[int, Memory], State], count: int | None, state: Memory) -> State:
        """Step by step; count: None where it is not known. When steps repeat themselves, the last ones remain."""
        outer, self.jumps = self.jumps, ([], [])
        ends: list[State] = [state.copy()] if count is None else []
        current: State = state
        seen: list[int] = []
        number, most = 0, STEPS if count is None else count
        while number < most and current is not None:
            trace, self.trace = self.trace, current.digest()
            self.jumps[1].clear()
            current = _joined([step(number, current), *self.jumps[1]])
            seen.append(self.trace)
            self.trace = crc32(b"step", trace ^ self.trace)
            number += 1
            if count is None and current is not None:
                ends.append(current.copy())
            period = _period(seen)
            if period and count is None:
                break
            if period and count is not None and count - number > 2 * period + 2:
                number = count - 2 - (count - 2 - number) % period - period
                seen.clear()
        ends += [*self.jumps[0], *([current] if count is not None else [])]
        self.jumps = outer
        return _joined(ends)


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
