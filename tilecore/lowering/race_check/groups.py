"""Encodes groups of threads: which threads accessed a cell of memory, and which threads have synchronized since.

A group is a small integer, so that an array can hold one for each cell. The groups are NONE; each single thread; "some
of a set" for several threads of a set that have not synchronized since the access; and "all of a set" for an access
after which the whole set has synchronized, so that it is ordered before whatever a thread of the set does next. One
table gives the union of two groups; another tells which threads are ordered after the access of a group.

The number of sets is limited. Without an entry for a set, its accesses count as accesses of the whole block, and its
barriers have no effect. Both are conservative: they may report a race that does not exist, and never hide one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NONE = 0  # no thread
FIRST = 1  # the group of thread 0
MAX_ACCESSING_SETS = 40  # sets of threads that access memory together, besides warps
MAX_SYNCHRONIZED_SETS = 40  # further sets, of threads that synchronize
Array = Any  # numpy's


class Groups:
    """The groups of the threads of a block.

    threads: the number of threads of the block. warp: the number of threads that a warp barrier synchronizes. ordered:
    for each group and thread, is the thread ordered after the access of the group? union_of: for each pair of groups
    their union.
    """

    def __init__(self, threads: int, warp: int) -> None:
        self.threads, self.warp = threads, warp
        self.sets: list[Array] = []
        whole = np.ones(threads, bool)
        self.ordered: Array = np.zeros((0, 0), bool)  # [group, thread]
        self.union_of: Array = np.zeros((0, 0), np.int16)
        thread_index = np.arange(threads)
        self._build([whole, *(thread_index // warp == w for w in range(-(-threads // warp)))])

    def _build(self, sets: list[Array]) -> None:
        self.sets = sets
        self._all_ordered: dict[bytes, Array] = {}
        count = FIRST + self.threads + 2 * len(sets)
        self.members = np.zeros((count, self.threads), bool)
        self.members[FIRST : FIRST + self.threads] = np.eye(self.threads, dtype=bool)
        for index, members in enumerate(sets):
            self.members[self.some(index)] = self.members[self.all(index)] = members
        self.ordered = np.zeros((count, self.threads), bool)
        self.ordered[NONE] = True
        self.ordered[FIRST : FIRST + self.threads] = np.eye(self.threads, dtype=bool)
        for index, members in enumerate(sets):
            self.ordered[self.all(index)] = members
        self.union_of = self._unions(count)

    def _unions(self, count: int) -> Array:
        """For each pair of groups "some" of the smallest set that contains both; the group itself if they are equal."""
        best = np.full((count, count), self.some(0), np.int16)
        order = sorted(range(len(self.sets)), key=lambda n: -int(self.sets[n].sum()))
        for index in order:
            inside = ~(self.members & ~self.sets[index]).any(axis=1)
            best[np.ix_(inside, inside)] = self.some(index)
        every = np.arange(count)
        best[NONE, :], best[:, NONE] = every, every
        best[every, every] = every
        return best

    def some(self, index: int) -> int:
        return FIRST + self.threads + 2 * index

    def all(self, index: int) -> int:
        return self.some(index) + 1

    def set_of(self, members: Array, limit: int = MAX_ACCESSING_SETS + MAX_SYNCHRONIZED_SETS) -> int | None:
        """The index of the set of these threads, which is added if it is new; None if there are ``limit`` sets."""
        for index, threads in enumerate(self.sets):
            if np.array_equal(threads, members):
                return index
        if len(self.sets) > limit + -(-self.threads // self.warp):
            return None
        self._build([*self.sets, members.copy()])  # earlier groups keep their integers
        return len(self.sets) - 1

    def some_of(self, members: Array) -> int:
        """The group of an access by these threads; without an entry for their set, some threads of the block."""
        if members.sum() == 1:
            return FIRST + int(np.argmax(members))
        index = self.set_of(members, MAX_ACCESSING_SETS)
        return self.some(0 if index is None else index)

    def all_of(self, members: Array) -> int:
        """The group of work that all of these threads have waited for; without an entry for their set, not waited
        for."""
        if members.all():
            return NONE
        index = self.set_of(members)
        return self.some(0) if index is None else self.all(index)

    def all_ordered(self, members: Array) -> Array:
        """For each group, are all of these threads ordered after its access?"""
        key = members.tobytes()
        if key not in self._all_ordered:
            self._all_ordered[key] = self.ordered[:, members].all(axis=1)
        return self._all_ordered[key]

    def after_barrier(self, members: Array) -> Array:
        """For each group the group that it becomes by a barrier of these threads.

        Without an entry for their set no group changes, as if there were no barrier.
        """
        index = self.set_of(members)
        after = np.arange(len(self.members), dtype=np.int16)
        if members.all():
            return np.zeros_like(after)
        if index is not None:
            inside = ~(self.members & ~members).any(axis=1)
            inside[NONE] = False
            after[inside] = self.all(index)
        return after

    def after_warp_barrier(self, members: Array) -> Array:
        """For each group the group that it becomes by a warp barrier in each warp of ``members``."""
        after = np.arange(len(self.members), dtype=np.int16)
        for index in range(1, 1 + -(-self.threads // self.warp)):
            if not (self.sets[index] & ~members).any():
                inside = ~(self.members & ~self.sets[index]).any(axis=1)
                inside[NONE] = False
                after[inside] = self.all(index)
        return after
