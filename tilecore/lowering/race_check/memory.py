"""The abstract state of a block's shared memory: the accesses of each cell since the last barrier, and work in
flight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

from tilecore.lowering.race_check.groups import FIRST, NONE, Groups
from tilecore.lowering.race_check.records import AsyncWork, Conflict, Group, Site, merged, union

Array = Any  # numpy's
_GROUPS = ("writer", "reader", "updater")  # the arrays of groups of threads
_NUMBERS = ("write_site", "read_site", "update_site", "update_kind", "async_write", "async_read")


@dataclass(eq=False)
class Memory:
    """The abstract state of shared memory. cells: the number of its cells, each as large as the smallest element.

    Each array has one value for each cell. writer, reader, updater: the group of threads (groups.py) that has written
    or read the cell, or updated it by atomic operations of one kind, since a barrier. write_site, read_site,
    update_site: the index of the site of that access. Where a second kind of atomic operation follows, the updates of
    the first kind count as writes.
    """

    groups: Groups
    cells: int
    writer: Array = field(init=False)
    reader: Array = field(init=False)
    updater: Array = field(init=False)
    write_site: Array = field(init=False)
    read_site: Array = field(init=False)
    update_site: Array = field(init=False)
    update_kind: Array = field(init=False)  # the kind of the atomic operations; 0: none
    async_write: Array = field(init=False)  # the site of an asynchronous write in flight; 0: none
    async_read: Array = field(init=False)  # the site of an asynchronous read in flight; 0: none
    open: dict[str, tuple[AsyncWork, ...]] = field(default_factory=dict)  # work that is not committed, by queue
    queues: dict[str, tuple[Group, ...]] = field(default_factory=dict)  # committed groups, by queue
    completing: tuple[AsyncWork, ...] = ()  # work that completes on a barrier in memory

    def __post_init__(self) -> None:
        for name in _GROUPS:
            setattr(self, name, np.zeros(self.cells, np.int16))
        for name in _NUMBERS:
            setattr(self, name, np.zeros(self.cells, np.int32))

    def copy(self) -> Memory:
        """A state that changes independently of this one."""
        other = Memory.__new__(Memory)
        other.__dict__.update(self.__dict__)
        for name in (*_GROUPS, *_NUMBERS):
            setattr(other, name, getattr(self, name).copy())
        other.open, other.queues = dict(self.open), dict(self.queues)
        return other

    def digest(self) -> int:
        """A checksum that is the same for states with the same unordered accesses and work in flight."""
        checksum = 0
        for name in (*_GROUPS, "update_kind", "async_write", "async_read"):
            checksum = crc32(getattr(self, name).data, checksum)
        groups = [(name, [len(g.items) for g in queue]) for name, queue in sorted(self.queues.items())]
        return crc32(repr((groups, len(self.completing))).encode(), checksum)

    # -- accesses of threads --------------------------------------------------------------------------------------

    def read(self, site: Site, cells: Array, threads: Array, earlier_state: Memory | None = None) -> Conflict | None:
        """``threads[i]`` reads ``cells[i]``. earlier_state: the state to check against, by default this one."""
        conflict = self._in_flight_conflict(site, cells, self.async_write) or self._race(
            site, cells, threads, earlier_state or self, writes=False
        )
        if conflict is None:
            self.reader[cells], self.read_site[cells] = self._add_threads(self.reader, cells, threads), site.index
        return conflict

    def write(
        self, site: Site, cells: Array, threads: Array, atomic: int = 0, earlier_state: Memory | None = None
    ) -> Conflict | None:
        """``threads[i]`` writes ``cells[i]``.

        atomic: the kind of an atomic operation, 0 for none. earlier_state: the state to check against, by default this
        one.
        """
        checked = earlier_state or self
        conflict = self._in_flight_conflict(site, cells, self.async_write) or self._in_flight_conflict(
            site, cells, self.async_read
        )
        conflict = conflict or self._race(site, cells, threads, checked, writes=True, atomic=atomic)
        if conflict is None and not atomic and earlier_state is None:
            conflict = self._two_writers(site, cells, threads)
        if conflict is None and atomic:
            self._start_updates(cells, atomic)
            self.updater[cells], self.update_site[cells] = self._add_threads(self.updater, cells, threads), site.index
        elif conflict is None:
            self.writer[cells], self.write_site[cells] = self._add_threads(self.writer, cells, threads), site.index
        return conflict

    def all_access(
        self, site: Site, cells: slice, threads: Array, writes: bool, earlier_state: Memory
    ) -> Conflict | None:
        """Any of the threads may access any of the cells. earlier_state: the state to check against."""
        thread_group = self.groups.some_of(threads)
        ordered = self.groups.all_ordered(threads)
        checks = [
            ("write_site", ~ordered[earlier_state.writer[cells]]),
            ("update_site", ~ordered[earlier_state.updater[cells]]),
            ("async_write", self.async_write[cells] != 0),
        ]
        if writes:
            checks.append(("read_site", ~ordered[earlier_state.reader[cells]]))
            checks.append(("async_read", self.async_read[cells] != 0))
        for sites_name, conflicting in checks:
            if conflicting.any():
                position = int(np.argmax(conflicting))
                in_flight = sites_name in ("async_write", "async_read")
                earlier = int(getattr(self if in_flight else earlier_state, sites_name)[cells][position])
                return Conflict(earlier, site, int(cells.start) + position, in_flight)
        array, sites = (self.writer, self.write_site) if writes else (self.reader, self.read_site)
        array[cells], sites[cells] = self.groups.union_of[array[cells], thread_group], site.index
        return None

    def all_atomic(self, site: Site, cells: slice, threads: Array, kind: int) -> Conflict | None:
        """Any of the threads may change any of the cells by one kind of atomic operation."""
        ordered = self.groups.all_ordered(threads)
        checks = (
            (~ordered[self.writer[cells]], self.write_site),
            (~ordered[self.updater[cells]] & (self.update_kind[cells] != kind), self.update_site),
            (~ordered[self.reader[cells]], self.read_site),
        )
        for conflicting, sites in checks:
            if conflicting.any():
                cell = int(np.argmax(conflicting)) + int(cells.start)
                return Conflict(int(sites[cell]), site, cell)
        thread_group = self.groups.some_of(threads)  # before the table is read: it may grow
        self._start_updates(cells, kind)
        self.updater[cells] = self.groups.union_of[self.updater[cells], thread_group]
        self.update_site[cells] = site.index
        return None

    def _start_updates(self, cells: Array | slice, kind: int) -> None:
        """Prepares cells for updates of a kind: earlier updates of another kind become writes."""
        other_kind = (self.update_kind[cells] != kind) & (self.updater[cells] != NONE)
        if other_kind.any():
            changed = np.arange(self.cells)[cells][other_kind]
            self.writer[changed] = self.groups.union_of[self.writer[changed], self.updater[changed]]
            self.write_site[changed], self.updater[changed] = self.update_site[changed], NONE
        self.update_kind[cells] = kind

    def _in_flight_conflict(self, site: Site, cells: Array, in_flight: Array) -> Conflict | None:
        """The conflict of an access with asynchronous work. in_flight: ``async_write`` or ``async_read``."""
        conflicting = in_flight[cells] != 0
        if not conflicting.any():
            return None
        cell = int(cells[np.argmax(conflicting)])
        return Conflict(int(in_flight[cell]), site, cell, True)

    def _race(
        self, site: Site, cells: Array, threads: Array, earlier_state: Memory, writes: bool, atomic: int = 0
    ) -> Conflict | None:
        """The conflict of an access by threads with an earlier access that nothing orders before it."""
        ordered = self.groups.ordered
        not_updated = ordered[earlier_state.updater[cells], threads]
        if atomic:
            not_updated = not_updated | (earlier_state.update_kind[cells] == atomic)
        checks = [
            (~ordered[earlier_state.writer[cells], threads], earlier_state.write_site),
            (~not_updated, earlier_state.update_site),
        ]
        if writes:
            checks.append((~ordered[earlier_state.reader[cells], threads], earlier_state.read_site))
        for conflicting, sites in checks:
            if conflicting.any():
                cell = int(cells[np.argmax(conflicting)])
                return Conflict(int(sites[cell]), site, cell)
        return None

    def _two_writers(self, site: Site, cells: Array, threads: Array) -> Conflict | None:
        """The conflict of a site with itself, if two of its threads write the same cell."""
        last_writer = np.zeros(self.cells, np.int16)
        last_writer[cells] = threads
        conflicting = last_writer[cells] != threads
        return Conflict(site.index, site, int(cells[np.argmax(conflicting)])) if conflicting.any() else None

    def _add_threads(self, array: Array, cells: Array, threads: Array) -> Array:
        """Adds ``threads[i]`` to the group of threads that ``array`` (writer or reader) has for ``cells[i]``.

        Several threads may access one cell. Returns the groups of the cells.
        """
        union_of = self.groups.union_of
        accessing = union_of[array[cells], (threads + FIRST).astype(np.int16)]
        array[cells] = accessing
        while True:  # each iteration adds one more of the threads that access the same cell
            current = array[cells]
            combined = union_of[current, accessing]
            changed = combined != current
            if not changed.any():
                return current
            array[cells[changed]] = combined[changed]

    # -- synchronization ------------------------------------------------------------------------------------------

    def synchronize(self, members: Array) -> None:
        """A barrier of these threads."""
        if members.all():
            for name in _GROUPS:
                getattr(self, name)[:] = NONE
            return
        self._regroup(self.groups.after_barrier(members))

    def synchronize_warps(self, members: Array) -> None:
        """A warp barrier in each warp of these threads."""
        self._regroup(self.groups.after_warp_barrier(members))

    def _regroup(self, after: Array) -> None:
        """Replaces each group g of threads by ``after[g]``."""
        for name in _GROUPS:
            setattr(self, name, after[getattr(self, name)])

    # -- asynchronous work ----------------------------------------------------------------------------------------

    def start(self, work: AsyncWork, queue: str | None) -> Conflict | None:
        """Starts asynchronous work of a queue, or (None) work that completes on a barrier in memory."""
        threads = work.starters - FIRST
        conflict = self._in_flight_conflict(work.site, work.cells, self.async_write)
        if work.writes:
            conflict = conflict or self._in_flight_conflict(work.site, work.cells, self.async_read)
        by_single_threads = bool(len(threads)) and int(work.starters.max()) < FIRST + self.groups.threads
        if conflict is None and by_single_threads:
            conflict = self._race(work.site, work.cells, threads, self, work.writes)
        elif conflict is None:
            conflict = self._unordered_write(work)
        if conflict is not None:
            return conflict
        self._mark(work, work.site.index)
        if queue is None:
            self.completing = (*self.completing, work)
        else:
            self.open[queue] = (*self.open.get(queue, ()), work)
        return None

    def _unordered_write(self, work: AsyncWork) -> Conflict | None:
        """The conflict of work with an earlier write or update that is not ordered before all of its threads."""
        ordered = self.groups.all_ordered(work.threads)
        for groups, sites in ((self.writer, self.write_site), (self.updater, self.update_site)):
            conflicting = ~ordered[groups[work.cells]]
            if conflicting.any():
                cell = int(work.cells[np.argmax(conflicting)])
                return Conflict(int(sites[cell]), work.site, cell)
        return None

    def _mark(self, work: AsyncWork, site_number: int) -> None:
        """Marks the cells of the work as in flight since a site; 0 marks them as not in flight."""
        (self.async_write if work.writes else self.async_read)[work.cells] = site_number

    def commit(self, queue: str, threads: Array) -> None:
        """The uncommitted work of these threads becomes one group of the queue."""
        items = self.open.get(queue, ())
        committed = tuple(i for i in items if not (i.threads & ~threads).any())
        self.open[queue] = tuple(i for i in items if i not in committed)
        self.queues[queue] = (*self.queues.get(queue, ()), Group(committed, threads))

    def wait(self, queue: str, remaining: int, threads: Array) -> None:
        """These threads wait for all of their groups but the last ``remaining``."""
        groups = self.queues.get(queue, ())
        own_groups = [group for group in groups if not (group.threads & ~threads).any()]
        done = own_groups[: max(0, len(own_groups) - remaining)]
        self.queues[queue] = tuple(group for group in groups if group not in done)
        self._finish([item for group in done for item in group.items])

    def wait_at(self, barrier: tuple[Any, ...], threads: Array) -> bool:
        """These threads wait at a barrier in memory. Returns whether work completes on it."""
        done = [item for item in self.completing if item.barrier == barrier]
        self.completing = tuple(item for item in self.completing if item.barrier != barrier)
        index = self.groups.all_of(threads)
        for item in done:
            self._mark(item, 0)
            array, sites = (self.writer, self.write_site) if item.writes else (self.reader, self.read_site)
            array[item.cells], sites[item.cells] = index, item.site.index
            if item.writes:
                self.updater[item.cells] = NONE
        return bool(done)

    def forget_completing(self) -> None:
        """All work that completes on barriers in memory has completed."""
        for item in self.completing:
            self._mark(item, 0)
        self.completing = ()

    def _finish(self, items: list[AsyncWork]) -> None:
        for item in items:
            self._mark(item, 0)
        for other in self._all_in_flight():  # other reads of the same cells are still in flight
            self._mark(other, other.site.index)
        for item in items:
            array, sites = (self.writer, self.write_site) if item.writes else (self.reader, self.read_site)
            array[item.cells] = self.groups.union_of[array[item.cells], item.starters]
            sites[item.cells] = item.site.index

    def _all_in_flight(self) -> list[AsyncWork]:
        queued = [item for queue in self.queues.values() for group in queue for item in group.items]
        return [*queued, *(item for items in self.open.values() for item in items), *self.completing]

    # -- control flow ---------------------------------------------------------------------------------------------

    def merged_with(self, other: Memory) -> Memory:
        """The join (least upper bound) of two states, where two paths of the control flow meet."""
        both = self.copy()
        self_updates, other_updates = self.updater != NONE, other.updater != NONE
        if (self_updates & other_updates & (self.update_kind != other.update_kind)).any():
            return self._without_updates().merged_with(other._without_updates())
        for name, sites in (("writer", "write_site"), ("reader", "read_site"), ("updater", "update_site")):
            self_groups, other_groups = getattr(self, name), getattr(other, name)
            setattr(both, name, self.groups.union_of[self_groups, other_groups])
            setattr(both, sites, np.where(self_groups != NONE, getattr(self, sites), getattr(other, sites)))
        both.update_kind = np.where(self_updates, self.update_kind, other.update_kind)
        both.async_write = np.where(self.async_write != 0, self.async_write, other.async_write)
        both.async_read = np.where(self.async_read != 0, self.async_read, other.async_read)
        both.completing = union(self.completing, other.completing)
        for name in {*self.open, *other.open}:
            both.open[name] = union(self.open.get(name, ()), other.open.get(name, ()))
        for name in {*self.queues, *other.queues}:
            both.queues[name] = merged(self.queues.get(name, ()), other.queues.get(name, ()))
        return both

    def _without_updates(self) -> Memory:
        """A copy in which all updates count as writes."""
        state = self.copy()
        state._start_updates(slice(None), 0)
        return state
