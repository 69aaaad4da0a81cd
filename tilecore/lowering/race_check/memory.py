"""The bytes of a block's shared memory: who wrote and read each since a barrier ordered it, and what is on its way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

from tilecore.lowering.race_check.groups import FIRST, NONE, Groups

Array = Any  # numpy's


@dataclass(frozen=True)
class Site:
    """An access in the code. what: "write of s", say. nest: the parallel loop that it is in, 0 for none."""

    number: int
    what: str
    span: Any
    nest: int = 0


@dataclass(frozen=True, eq=False)
class Item:
    """Asynchronous work: the cells that it reads or writes, who started it, and the barrier that tells of its end."""

    site: Site
    cells: Array
    who: Array
    threads: Array
    writes: bool
    barrier: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class Group:
    """Work that its threads wait for together."""

    items: tuple[Item, ...]
    threads: Array


@dataclass(frozen=True)
class Conflict:
    """Two accesses that nothing orders. pending: the earlier one is asynchronous and has not been waited for."""

    earlier: int
    later: Site
    cell: int
    pending: bool = False


@dataclass(eq=False)
class Memory:
    """cells: of shared memory, of as many bytes as its smallest element. All arrays have a value for each."""

    groups: Groups
    cells: int
    writer: Array = field(init=False)
    reader: Array = field(init=False)
    atomic: Array = field(init=False)  # the kind of the atomic operation that wrote it, 0: none
    write_site: Array = field(init=False)
    read_site: Array = field(init=False)
    landing: Array = field(init=False)  # the site of an asynchronous write that is on its way; 0: none
    leaving: Array = field(init=False)  # of an asynchronous read
    open: dict[str, tuple[Item, ...]] = field(default_factory=dict)
    queues: dict[str, tuple[Group, ...]] = field(default_factory=dict)
    told: tuple[Item, ...] = ()  # work that tells a barrier in memory

    def __post_init__(self) -> None:
        for name in ("writer", "reader"):
            setattr(self, name, np.zeros(self.cells, np.int16))
        for name in ("atomic", "write_site", "read_site", "landing", "leaving"):
            setattr(self, name, np.zeros(self.cells, np.int32))

    def copy(self) -> Memory:
        other = Memory.__new__(Memory)
        other.__dict__.update(self.__dict__)
        for name in ("writer", "reader", "atomic", "write_site", "read_site", "landing", "leaving"):
            setattr(other, name, getattr(self, name).copy())
        other.open, other.queues = dict(self.open), dict(self.queues)
        return other

    def digest(self) -> int:
        """The same for memories in which the same accesses are open."""
        found = 0
        for name in ("writer", "reader", "atomic", "landing", "leaving"):
            found = crc32(getattr(self, name).data, found)
        groups = [(name, [len(g.items) for g in queue]) for name, queue in sorted(self.queues.items())]
        return crc32(repr((groups, len(self.told))).encode(), found)

    # -- accesses of threads --------------------------------------------------------------------------------------

    def read(self, site: Site, cells: Array, threads: Array, against: Memory | None = None) -> Conflict | None:
        """Each thread of ``threads`` reads the cell beside it in ``cells``."""
        conflict = self._pending(site, cells, self.landing) or self._unordered(
            site, cells, threads, against or self, writes=False
        )
        if conflict is None:
            self.reader[cells], self.read_site[cells] = self._with(self.reader, cells, threads), site.number
        return conflict

    def write(
        self, site: Site, cells: Array, threads: Array, atomic: int = 0, against: Memory | None = None
    ) -> Conflict | None:
        """Each thread of ``threads`` writes the cell beside it. atomic: the kind of an atomic operation."""
        before = against or self
        conflict = self._pending(site, cells, self.landing) or self._pending(site, cells, self.leaving)
        conflict = conflict or self._unordered(site, cells, threads, before, writes=True, atomic=atomic)
        if conflict is None and not atomic and against is None:
            conflict = self._twice(site, cells, threads)
        if conflict is None:
            self.writer[cells], self.write_site[cells] = self._with(self.writer, cells, threads), site.number
            self.atomic[cells] = atomic
        return conflict

    def all_touch(self, site: Site, cells: slice, threads: Array, writes: bool, before: Memory) -> Conflict | None:
        """Any of the threads may touch any of the cells. before: what is held against them."""
        who = self.groups.some_of(threads)
        behind = self.groups.all_behind(threads)
        rows = [("writer", "write_site", ~behind[before.writer[cells]])]
        rows.append(("landing", "landing", self.landing[cells] != 0))
        if writes:
            rows.append(("reader", "read_site", ~behind[before.reader[cells]]))
            rows.append(("leaving", "leaving", self.leaving[cells] != 0))
        for name, where, bad in rows:
            if bad.any():
                at = int(np.argmax(bad))
                holder = self if name in ("landing", "leaving") else before
                earlier = int(getattr(holder, where)[cells][at])
                return Conflict(earlier, site, int(cells.start) + at, name in ("landing", "leaving"))
        array, sites = (self.writer, self.write_site) if writes else (self.reader, self.read_site)
        array[cells], sites[cells] = self.groups.joined[array[cells], who], site.number
        if writes:
            self.atomic[cells] = 0
        return None

    def all_atomic(self, site: Site, cells: slice, threads: Array, kind: int) -> Conflict | None:
        """Any of the threads may change any of the cells by one kind of atomic operation."""
        behind = self.groups.all_behind(threads)
        bad = ~behind[self.writer[cells]] & (self.atomic[cells] != kind)
        sites = self.write_site
        if not bad.any():
            bad, sites = ~behind[self.reader[cells]], self.read_site
        if bad.any():
            at = int(np.argmax(bad)) + int(cells.start)
            return Conflict(int(sites[at]), site, at)
        who = self.groups.some_of(threads)  # first: the tables may grow
        self.writer[cells] = self.groups.joined[self.writer[cells], who]
        self.write_site[cells], self.atomic[cells] = site.number, kind
        return None

    def _pending(self, site: Site, cells: Array, pending: Array) -> Conflict | None:
        bad = pending[cells] != 0
        if not bad.any():
            return None
        cell = int(cells[np.argmax(bad)])
        return Conflict(int(pending[cell]), site, cell, True)

    def _unordered(
        self, site: Site, cells: Array, threads: Array, before: Memory, writes: bool, atomic: int = 0
    ) -> Conflict | None:
        bad = ~self.groups.behind[before.writer[cells], threads]
        if atomic:
            bad &= before.atomic[cells] != atomic
        sites = before.write_site
        if writes and not bad.any():
            bad, sites = ~self.groups.behind[before.reader[cells], threads], before.read_site
        if not bad.any():
            return None
        cell = int(cells[np.argmax(bad)])
        return Conflict(int(sites[cell]), site, cell)

    def _twice(self, site: Site, cells: Array, threads: Array) -> Conflict | None:
        """Do two of the threads write one cell?"""
        last = np.zeros(self.cells, np.int16)
        last[cells] = threads
        bad = last[cells] != threads
        return Conflict(site.number, site, int(cells[np.argmax(bad)])) if bad.any() else None

    def _with(self, array: Array, cells: Array, threads: Array) -> Array:
        """Whose the cells are when these threads have touched them too; several may touch one."""
        joined = self.groups.joined
        who = joined[array[cells], (threads + FIRST).astype(np.int16)]
        array[cells] = who
        while True:  # each round joins one more of those that touch the same cell
            there = array[cells]
            both = joined[there, who]
            more = both != there
            if not more.any():
                return there
            array[cells[more]] = both[more]

    # -- what orders them -----------------------------------------------------------------------------------------

    def meet(self, members: Array) -> None:
        """These threads wait for each other."""
        if members.all():
            for array in (self.writer, self.reader, self.atomic):
                array[:] = NONE
            return
        after = self.groups.met(members)
        self.writer, self.reader = after[self.writer], after[self.reader]

    def warps_meet(self, members: Array) -> None:
        after = self.groups.warps_met(members)
        self.writer, self.reader = after[self.writer], after[self.reader]

    # -- asynchronous work ----------------------------------------------------------------------------------------

    def start(self, item: Item, channel: str | None) -> Conflict | None:
        """Work that reads or writes later, of a channel or told to a barrier in memory."""
        threads = item.who - FIRST
        conflict = self._pending(item.site, item.cells, self.landing)
        if item.writes:
            conflict = conflict or self._pending(item.site, item.cells, self.leaving)
        single = bool(len(threads)) and int(item.who.max()) < FIRST + self.groups.threads
        if conflict is None and single:
            conflict = self._unordered(item.site, item.cells, threads, self, item.writes)
        elif conflict is None:
            bad = ~self.groups.all_behind(item.threads)[self.writer[item.cells]]
            if bad.any():
                cell = int(item.cells[np.argmax(bad)])
                conflict = Conflict(int(self.write_site[cell]), item.site, cell)
        if conflict is not None:
            return conflict
        self._mark(item, item.site.number)
        if channel is None:
            self.told = (*self.told, item)
        else:
            self.open[channel] = (*self.open.get(channel, ()), item)
        return None

    def _mark(self, item: Item, number: int) -> None:
        (self.landing if item.writes else self.leaving)[item.cells] = number

    def commit(self, channel: str, threads: Array) -> None:
        items = self.open.get(channel, ())
        mine = tuple(i for i in items if not (i.threads & ~threads).any())
        self.open[channel] = tuple(i for i in items if i not in mine)
        self.queues[channel] = (*self.queues.get(channel, ()), Group(mine, threads))

    def wait(self, channel: str, remaining: int, threads: Array) -> None:
        """Groups of these threads but the last ``remaining`` are done."""
        queue = self.queues.get(channel, ())
        mine = [group for group in queue if not (group.threads & ~threads).any()]
        done = mine[: max(0, len(mine) - remaining)]
        self.queues[channel] = tuple(group for group in queue if group not in done)
        self._finish([item for group in done for item in group.items])

    def hear(self, barrier: tuple[Any, ...], threads: Array) -> bool:
        """These threads wait at a barrier in memory; is there work that tells it?"""
        done = [item for item in self.told if item.barrier == barrier]
        self.told = tuple(item for item in self.told if item.barrier != barrier)
        number = self.groups.all_of(threads)
        for item in done:
            self._mark(item, 0)
            array, sites = (self.writer, self.write_site) if item.writes else (self.reader, self.read_site)
            array[item.cells], sites[item.cells] = number, item.site.number
        return bool(done)

    def forget_told(self) -> None:
        for item in self.told:
            self._mark(item, 0)
        self.told = ()

    def _finish(self, items: list[Item]) -> None:
        for item in items:
            self._mark(item, 0)
        for queue in self._all_pending():  # other reads of the same cells go on
            self._mark(queue, queue.site.number)
        for item in items:
            array, sites = (self.writer, self.write_site) if item.writes else (self.reader, self.read_site)
            array[item.cells] = self.groups.joined[array[item.cells], item.who]
            sites[item.cells] = item.site.number

    def _all_pending(self) -> list[Item]:
        queued = [item for queue in self.queues.values() for group in queue for item in group.items]
        return [*queued, *(item for items in self.open.values() for item in items), *self.told]

    # -- ways that meet -------------------------------------------------------------------------------------------

    def joined(self, other: Memory) -> Memory:
        """What may be open where two ways through the code meet."""
        both = self.copy()
        for name, sites in (("writer", "write_site"), ("reader", "read_site")):
            mine, its = getattr(self, name), getattr(other, name)
            setattr(both, name, self.groups.joined[mine, its])
            setattr(both, sites, np.where(mine != NONE, getattr(self, sites), getattr(other, sites)))
        both.atomic = np.where(self.atomic == other.atomic, self.atomic, 0)
        both.atomic = np.where(
            self.writer == NONE, other.atomic, np.where(other.writer == NONE, self.atomic, both.atomic)
        )
        both.landing = np.where(self.landing != 0, self.landing, other.landing)
        both.leaving = np.where(self.leaving != 0, self.leaving, other.leaving)
        both.told = _union(self.told, other.told)
        for name in {*self.open, *other.open}:
            both.open[name] = _union(self.open.get(name, ()), other.open.get(name, ()))
        for name in {*self.queues, *other.queues}:
            both.queues[name] = _merged(self.queues.get(name, ()), other.queues.get(name, ()))
        return both


def _union(a: tuple[Item, ...], b: tuple[Item, ...]) -> tuple[Item, ...]:
    return (*a, *(item for item in b if not any(item is one for one in a)))


def _merged(a: tuple[Group, ...], b: tuple[Group, ...]) -> tuple[Group, ...]:
    """The newest groups beside each other: a wait counts from the end."""
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    gap = len(long) - len(short)
    pairs = zip(long[gap:], short, strict=True)
    tail = [one if one is two else Group(_union(one.items, two.items), one.threads | two.threads) for one, two in pairs]
    return (*long[:gap], *tail)
