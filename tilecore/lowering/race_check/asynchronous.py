"""What single statements do to the memory of a block: accesses, barriers, work that goes on by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np

from tilecore.lowering.race_check.accesses import Access
from tilecore.lowering.race_check.effects import AnyTouch, Barrier, Commit, Hear, Start, Touch, Wait, bytes_of
from tilecore.lowering.race_check.groups import FIRST
from tilecore.lowering.race_check.memory import Conflict, Item, Memory, Site
from tilecore.lowering.race_check.values import UNKNOWN, Value

ATOMICS: dict[str, int] = {}  # kinds of atomic operations by number


class Asynchronous:
    """The part of a walk that looks at one statement. The walk's fields are its own."""

    program: Any
    groups: Any
    accesses: Any
    expressions: Any
    names: dict[Any, Value]
    sites: list[Site]
    everybody: Any
    described: dict[Any, Any]  # the cells of operands of products
    report: Callable[[Conflict], None]
    trace: int  # of what has been done so far, to see that steps repeat themselves
    nest: int  # the place of the T.Parallel that the walk is in, or 0
    before: Memory | None  # the state before it, where its iterations scatter
    in_role: bool
    _planned: dict[int, tuple[Any, list[tuple[Access, Site]]]]

    def touch(self, node: Any, statement: Any, state: Memory, mask: Value, span: Any) -> None:
        """Everything that ``node``, a part of ``statement``, does."""
        for access, site in self._plan(node, statement, span):
            who = self._guarded(access.guards, mask)
            if not np.any(who):
                continue
            self.trace = crc32(str(site.number).encode(), self.trace)
            conflict = self._do(access.effect, site, state, who)
            if conflict is not None:
                self.report(conflict)

    def _plan(self, node: Any, statement: Any, span: Any) -> list[tuple[Access, Site]]:
        key = node.__chandle__()
        entry = self._planned.get(key)
        if entry is None:
            places = []
            for access in self.accesses.of(node):
                site = Site(
                    len(self.sites), self._says(access.effect), getattr(statement, "span", None) or span, self.nest
                )
                self.sites.append(site)
                places.append((access, site))
            entry = self._planned[key] = node, places
        return entry[1]

    def _says(self, effect: Any) -> str:
        element = getattr(effect, "element", None)
        name = f" of {element.source.name}" if element is not None else ""
        if isinstance(effect, (Touch, AnyTouch)):
            return ("write" if effect.writes else "read") + name
        if isinstance(effect, Start):
            return f"asynchronous {'write' if effect.writes else 'read'}{name}"
        return ""

    def _guarded(self, guards: Any, mask: Value) -> Value:
        for condition, wanted in guards:
            chosen = self.expressions.value(condition, self.names)
            if chosen is not UNKNOWN:
                mask = np.logical_and(mask, chosen if wanted else np.logical_not(chosen))
        return mask

    def _members(self, mask: Value) -> Any:
        """Which threads a mask names at all."""
        wide = np.broadcast_to(mask, np.broadcast_shapes(np.shape(mask), self.everybody.shape))
        return wide.reshape(-1, self.groups.threads).any(axis=0)

    def _do(self, effect: Any, site: Site, state: Memory, mask: Value) -> Conflict | None:
        if isinstance(effect, Touch):
            return self._access(effect, site, state, mask)
        if isinstance(effect, AnyTouch):
            return self._anywhere(effect, site, state, mask)
        if isinstance(effect, Start):
            return self._start(effect, site, state, mask)
        members = self._members(mask)
        if isinstance(effect, Barrier):
            (state.warps_meet if effect.warps else state.meet)(members)
        elif isinstance(effect, Commit):
            state.commit(effect.channel, members)
        elif isinstance(effect, Wait):
            remaining = self.expressions.value(effect.remaining, self.names)
            if remaining is not UNKNOWN:
                state.wait(effect.channel, int(np.max(remaining)), members)
        elif isinstance(effect, Hear) and not state.hear(self._barrier(effect.barrier), members) and self.in_role:
            state.forget_told()  # another role says that it is done with what this one has started
        return None

    def _barrier(self, element: Any) -> tuple[Any, ...]:
        index = self.expressions.value(element.indices[0], self.names)
        known = str(element.indices[0]) if index is UNKNOWN else int(np.max(index))
        return str(self.program.roots.get(element.source, element.source).name), known

    # -- where ----------------------------------------------------------------------------------------------------

    def _cells(self, element: Any, size: int, mask: Value, lanes: int = 0) -> tuple[Any, Any] | None:
        """(cells, the thread that touches each); None where the place is not known."""
        start = self.program.start_of(element.source)
        index = self.expressions.value(element.indices[0], self.names)
        if index is UNKNOWN:
            return None
        if lanes:
            mask = np.logical_and(mask, np.arange(self.groups.threads) % self.groups.warp < lanes)
        first, last = start, start + self.program.size_of(element.source)
        return self._runs(start + np.asarray(index) * bytes_of(element), size, mask, first, last)

    def _runs(self, begin: Any, size: int, mask: Value, first: int, last: int) -> tuple[Any, Any]:
        cell = self.program.cell
        shape = np.broadcast_shapes(np.shape(begin), np.shape(mask), self.everybody.shape)
        chosen = np.broadcast_to(mask, shape).reshape(-1)
        begin = np.broadcast_to(begin, shape).reshape(-1)
        threads = np.broadcast_to(np.arange(self.groups.threads), shape).reshape(-1)
        chosen = chosen & (begin >= first) & (begin < last)
        begin, threads = begin[chosen], threads[chosen]
        count = -(-size // cell)
        cells = (begin // cell)[:, None] + np.arange(count)
        threads = np.repeat(threads, count)
        cells = cells.reshape(-1)
        inside = cells < -(-last // cell)
        self.trace = crc32(np.ascontiguousarray(cells).data, self.trace)
        return cells[inside], threads[inside]

    # -- accesses -------------------------------------------------------------------------------------------------

    def _access(self, effect: Touch, site: Site, state: Memory, mask: Value) -> Conflict | None:
        places = self._cells(effect.element, effect.size, mask, effect.lanes)
        if places is None:
            return self._anywhere(effect, site, state, mask)
        cells, threads = places
        if not len(cells):
            return None
        if not effect.writes:
            return state.read(site, cells, threads)
        kind = ATOMICS.setdefault(effect.atomic, len(ATOMICS) + 1) if effect.atomic else 0
        return state.write(site, cells, threads, kind)

    def _anywhere(self, effect: Any, site: Site, state: Memory, mask: Value) -> Conflict | None:
        """A place that depends on data. Iterations of a T.Parallel touch different elements, as the language asks."""
        start = self.program.start_of(effect.element.source)
        cell = self.program.cell
        cells = slice(start // cell, -(-(start + self.program.size_of(effect.element.source)) // cell))
        before = state if self.before is None else self.before
        if getattr(effect, "atomic", ""):
            kind = ATOMICS.setdefault(effect.atomic, len(ATOMICS) + 1)
            return state.all_atomic(site, cells, self._members(mask), kind)
        return state.all_touch(site, cells, self._members(mask), effect.writes, before)

    def _start(self, effect: Start, site: Site, state: Memory, mask: Value) -> Conflict | None:
        members = self._members(mask)
        barrier = None if effect.barrier is None else self._barrier(effect.barrier)
        for cells, who in self._places_of(effect, mask, members):
            if len(cells):
                item = Item(site, cells, who, members, effect.writes, barrier)
                conflict = state.start(item, effect.channel)
                if conflict is not None:
                    return conflict
        return None

    def _places_of(self, effect: Start, mask: Value, members: Any) -> list[tuple[Any, Any]]:
        """(cells, each once; who starts the work on each)."""
        if effect.at is not None:
            return self._described(effect, mask, members)
        places = self._cells(effect.element, effect.size, mask)
        if places is None:
            return [self._whole(effect.element, members)]
        cells, threads = places
        touched = np.zeros(-(-self.program.bytes // self.program.cell), bool)
        touched[cells] = True
        once = np.flatnonzero(touched)
        if len(once) == len(cells):
            return [(cells, threads + FIRST)]
        return [(once, np.full(len(once), self.groups.some_of(members)))]

    def _whole(self, element: Any, members: Any) -> tuple[Any, Any]:
        start, cell = self.program.start_of(element.source), self.program.cell
        cells = np.arange(start // cell, -(-(start + self.program.size_of(element.source)) // cell))
        return cells, np.full(len(cells), self.groups.some_of(members))

    def _described(self, effect: Start, mask: Value, members: Any) -> list[tuple[Any, Any]]:
        """Runs of bytes behind a place that is a value: the description of a matrix in shared memory."""
        at = self.expressions.value(effect.at, self.names)
        if at is UNKNOWN:
            return [self._whole(effect.element, members)]
        begin = np.broadcast_to(np.asarray(at) // effect.align * effect.align, members.shape)
        found = []
        for first in np.unique(begin[members]):
            mine = members & (begin == first)
            cells = self._cells_of(int(first), effect.pieces)
            self.trace = crc32(cells.data, self.trace)
            found.append((cells, np.full(len(cells), self.groups.some_of(mine))))
        return found

    def _cells_of(self, first: int, pieces: tuple[tuple[int, int], ...]) -> Any:
        """The cells of runs of bytes, each once."""
        key = first, pieces
        if key not in self.described:
            cell, end = self.program.cell, self.program.bytes
            touched = np.zeros(-(-end // cell), bool)
            for offset, size in pieces:
                touched[max(0, first + offset) // cell : -(-min(first + offset + size, end) // cell)] = True
            self.described[key] = np.flatnonzero(touched)
        return self.described[key]
