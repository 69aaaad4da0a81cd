"""Applies the effects of single statements to a block's memory: accesses, barriers, asynchronous work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np

from tilecore.lowering.race_check.accesses import GuardedEffect
from tilecore.lowering.race_check.effects import (
    Access,
    AnyAccess,
    AsyncAccess,
    Barrier,
    Commit,
    MemoryBarrierWait,
    Wait,
    bytes_of,
)
from tilecore.lowering.race_check.groups import FIRST
from tilecore.lowering.race_check.memory import Memory
from tilecore.lowering.race_check.records import AsyncWork, Conflict, Site
from tilecore.lowering.race_check.values import UNKNOWN, Value

ATOMICS: dict[str, int] = {}  # the code of each kind of atomic operation


class Asynchronous:
    """The part of a walk that handles one statement; the class Walk sets its fields."""

    program: Any
    groups: Any
    accesses: Any
    expressions: Any
    names: dict[Any, Value]
    sites: list[Site]
    all_threads: Any
    described: dict[Any, Any]  # the cells of operands of matrix products
    report: Callable[[Conflict], None]
    trace: int  # a checksum of the effects so far: equal ones show that iterations repeat
    nest: int  # an identifier of the T.Parallel that the walk is in, or 0
    before: Memory | None  # the state before that T.Parallel, where its iterations scatter
    in_role: bool
    _planned: dict[int, tuple[Any, list[tuple[GuardedEffect, Site]]]]

    def apply_effects(self, node: Any, statement: Any, state: Memory, mask: Value, span: Any) -> None:
        """Applies all effects of ``node``, a part of ``statement``, to ``state``. mask: the threads that execute it."""
        for guarded, site in self._plan(node, statement, span):
            executing = self._restricted(guarded.guards, mask)
            if not np.any(executing):
                continue
            self.trace = crc32(str(site.index).encode(), self.trace)
            conflict = self._apply(guarded.effect, site, state, executing)
            if conflict is not None:
                self.report(conflict)

    def _plan(self, node: Any, statement: Any, span: Any) -> list[tuple[GuardedEffect, Site]]:
        key = node.__chandle__()
        entry = self._planned.get(key)
        if entry is None:
            effects = []
            location = getattr(statement, "span", None) or span
            for guarded in self.accesses.of(node):
                site = Site(len(self.sites), self._description(guarded.effect), location, self.nest)
                self.sites.append(site)
                effects.append((guarded, site))
            entry = self._planned[key] = node, effects
        return entry[1]

    def _description(self, effect: Any) -> str:
        element = getattr(effect, "element", None)
        name = f" of {element.source.name}" if element is not None else ""
        if isinstance(effect, (Access, AnyAccess)):
            return ("write" if effect.writes else "read") + name
        if isinstance(effect, AsyncAccess):
            return f"asynchronous {'write' if effect.writes else 'read'}{name}"
        return ""

    def _restricted(self, guards: Any, mask: Value) -> Value:
        """The threads of ``mask`` for which the guards hold; guards of unknown value are ignored."""
        for condition, required in guards:
            value = self.expressions.value(condition, self.names)
            if value is not UNKNOWN:
                mask = np.logical_and(mask, value if required else np.logical_not(value))
        return mask

    def _threads_of(self, mask: Value) -> Any:
        """The threads that execute at least one of the iterations of ``mask``."""
        wide = np.broadcast_to(mask, np.broadcast_shapes(np.shape(mask), self.all_threads.shape))
        return wide.reshape(-1, self.groups.threads).any(axis=0)

    def _apply(self, effect: Any, site: Site, state: Memory, mask: Value) -> Conflict | None:
        if isinstance(effect, Access):
            return self._access(effect, site, state, mask)
        if isinstance(effect, AnyAccess):
            return self._access_anywhere(effect, site, state, mask)
        if isinstance(effect, AsyncAccess):
            return self._start(effect, site, state, mask)
        members = self._threads_of(mask)
        if isinstance(effect, Barrier):
            (state.synchronize_warps if effect.warps else state.synchronize)(members)
        elif isinstance(effect, Commit):
            state.commit(effect.queue, members)
        elif isinstance(effect, Wait):
            remaining = self.expressions.value(effect.remaining, self.names)
            if remaining is not UNKNOWN:
                state.wait(effect.queue, int(np.max(remaining)), members)
        elif (
            isinstance(effect, MemoryBarrierWait)
            and not state.wait_at(self._barrier(effect.barrier), members)
            and self.in_role
        ):
            state.forget_completing()  # another role signals that it is done with what this one has started
        return None

    def _barrier(self, element: Any) -> tuple[Any, ...]:
        """The identity of a barrier in memory: its buffer and index."""
        index = self.expressions.value(element.indices[0], self.names)
        index_or_text = str(element.indices[0]) if index is UNKNOWN else int(np.max(index))
        return str(self.program.roots.get(element.source, element.source).name), index_or_text

    # -- cells ----------------------------------------------------------------------------------------------------

    def _cells(self, element: Any, size: int, mask: Value, lanes: int = 0) -> tuple[Any, Any] | None:
        """The accessed cells, and for each the thread that accesses it; None if the index is unknown."""
        start = self.program.start_of(element.source)
        index = self.expressions.value(element.indices[0], self.names)
        if index is UNKNOWN:
            return None
        if lanes:
            mask = np.logical_and(mask, np.arange(self.groups.threads) % self.groups.warp < lanes)
        first, last = start, start + self.program.size_of(element.source)
        return self._cells_of_accesses(start + np.asarray(index) * bytes_of(element), size, mask, first, last)

    def _cells_of_accesses(self, begin: Any, size: int, mask: Value, first: int, last: int) -> tuple[Any, Any]:
        """The cells of accesses of ``size`` bytes from ``begin`` on, and for each cell the thread that accesses it.

        Only cells between the bytes ``first`` and ``last`` of the arena count.
        """
        cell = self.program.cell
        shape = np.broadcast_shapes(np.shape(begin), np.shape(mask), self.all_threads.shape)
        is_executed = np.broadcast_to(mask, shape).reshape(-1)
        begin = np.broadcast_to(begin, shape).reshape(-1)
        threads = np.broadcast_to(np.arange(self.groups.threads), shape).reshape(-1)
        is_executed = is_executed & (begin >= first) & (begin < last)
        begin, threads = begin[is_executed], threads[is_executed]
        count = -(-size // cell)
        cells = (begin // cell)[:, None] + np.arange(count)
        threads = np.repeat(threads, count)
        cells = cells.reshape(-1)
        inside = cells < -(-last // cell)
        self.trace = crc32(np.ascontiguousarray(cells).data, self.trace)
        return cells[inside], threads[inside]

    # -- accesses -------------------------------------------------------------------------------------------------

    def _access(self, effect: Access, site: Site, state: Memory, mask: Value) -> Conflict | None:
        cells_and_threads = self._cells(effect.element, effect.size, mask, effect.lanes)
        if cells_and_threads is None:
            return self._access_anywhere(effect, site, state, mask)
        cells, threads = cells_and_threads
        if not len(cells):
            return None
        if not effect.writes:
            return state.read(site, cells, threads)
        kind = ATOMICS.setdefault(effect.atomic, len(ATOMICS) + 1) if effect.atomic else 0
        return state.write(site, cells, threads, kind)

    def _access_anywhere(self, effect: Any, site: Site, state: Memory, mask: Value) -> Conflict | None:
        """An access whose index depends on data, so that it may be of any element of the buffer.

        The iterations of one T.Parallel access different elements, as the language requires.
        """
        start = self.program.start_of(effect.element.source)
        cell = self.program.cell
        cells = slice(start // cell, -(-(start + self.program.size_of(effect.element.source)) // cell))
        before = state if self.before is None else self.before
        if getattr(effect, "atomic", ""):
            kind = ATOMICS.setdefault(effect.atomic, len(ATOMICS) + 1)
            return state.all_atomic(site, cells, self._threads_of(mask), kind)
        return state.all_access(site, cells, self._threads_of(mask), effect.writes, before)

    def _start(self, effect: AsyncAccess, site: Site, state: Memory, mask: Value) -> Conflict | None:
        members = self._threads_of(mask)
        barrier = None if effect.barrier is None else self._barrier(effect.barrier)
        for cells, starters in self._cells_of_work(effect, mask, members):
            if len(cells):
                work = AsyncWork(site, cells, starters, members, effect.writes, barrier)
                conflict = state.start(work, effect.queue)
                if conflict is not None:
                    return conflict
        return None

    def _cells_of_work(self, effect: AsyncAccess, mask: Value, members: Any) -> list[tuple[Any, Any]]:
        """For each piece of the work, its cells without duplicates, and for each cell the group that starts the
        work."""
        if effect.at is not None:
            return self._described_cells(effect, mask, members)
        cells_and_threads = self._cells(effect.element, effect.size, mask)
        if cells_and_threads is None:
            return [self._whole_buffer(effect.element, members)]
        cells, threads = cells_and_threads
        is_accessed = np.zeros(-(-self.program.bytes // self.program.cell), bool)
        is_accessed[cells] = True
        once = np.flatnonzero(is_accessed)
        if len(once) == len(cells):
            return [(cells, threads + FIRST)]
        return [(once, np.full(len(once), self.groups.some_of(members)))]

    def _whole_buffer(self, element: Any, members: Any) -> tuple[Any, Any]:
        start, cell = self.program.start_of(element.source), self.program.cell
        cells = np.arange(start // cell, -(-(start + self.program.size_of(element.source)) // cell))
        return cells, np.full(len(cells), self.groups.some_of(members))

    def _described_cells(self, effect: AsyncAccess, mask: Value, members: Any) -> list[tuple[Any, Any]]:
        """The cells of work whose first byte is computed, as by the descriptor of a matrix in shared memory."""
        at = self.expressions.value(effect.at, self.names)
        if at is UNKNOWN:
            return [self._whole_buffer(effect.element, members)]
        begin = np.broadcast_to(np.asarray(at) // effect.align * effect.align, members.shape)
        pieces = []
        for first in np.unique(begin[members]):
            starters = members & (begin == first)
            cells = self._cells_of(int(first), effect.pieces)
            self.trace = crc32(cells.data, self.trace)
            pieces.append((cells, np.full(len(cells), self.groups.some_of(starters))))
        return pieces

    def _cells_of(self, first: int, pieces: tuple[tuple[int, int], ...]) -> Any:
        """The cells of the contiguous ``pieces`` from the byte ``first`` on, without duplicates."""
        key = first, pieces
        if key not in self.described:
            cell, end = self.program.cell, self.program.bytes
            is_accessed = np.zeros(-(-end // cell), bool)
            for offset, size in pieces:
                is_accessed[max(0, first + offset) // cell : -(-min(first + offset + size, end) // cell)] = True
            self.described[key] = np.flatnonzero(is_accessed)
        return self.described[key]
