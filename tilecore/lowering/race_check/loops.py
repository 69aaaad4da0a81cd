"""Loops in the race check: which of their iterations are executed, one after the other or all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np

from tilecore.ir.build import constant
from tilecore.ir.nodes import BufferStore, For, Stmt, While
from tilecore.ir.visit import collect
from tilecore.lowering.race_check.memory import Memory
from tilecore.lowering.race_check.overwrites import is_scalar
from tilecore.lowering.race_check.paths import Path, Paths, State
from tilecore.lowering.race_check.values import UNKNOWN, Value

MAX_ITERATIONS = 48  # executed iterations of a loop with an unknown trip count, or whose effects do not repeat
MAX_JUMPING_ITERATIONS = (
    512  # executed iterations of a loop with jumps, because any iteration may be the one that jumps
)
PERIODS = range(1, 9)  # numbers of iterations after which the effects of a loop may repeat
MAX_VALUES = 1 << 19  # values that are computed together


class Loops(Paths):
    """The part of a walk that executes loops; the class Walk sets its fields."""

    axes: int  # the axes of values: one for the threads, and one for each loop whose iterations are computed together

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


def _period(seen: list[int]) -> int:
    """The number of iterations after which their effects repeat; 0 if they do not repeat."""
    for period in PERIODS:
        if len(seen) >= 2 * period + 1 and seen[-period:] == seen[-2 * period : -period]:
            return period
    return 0
