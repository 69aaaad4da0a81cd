"""Who touched an element: a number for each thread and for each set of threads that wait together.

A number says which threads touched it and whether they have waited for each other since: NONE; a thread; "some of a
set" (several of its threads, which have not met since); "all of a set" (whoever it was, the set has met since, so that
each of its threads is behind it). Tables say what the union of two numbers is, and which threads are behind a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NONE = 0  # nobody
FIRST = 1  # the number of thread 0
MOST_SETS = 40  # of threads that touch something together, beside warps
MOST_WAITING = 40  # further ones, of threads that wait together
Array = Any  # numpy's


class Groups:
    """The numbers of a block's threads. threads: how many. warp: threads that may meet by themselves."""

    def __init__(self, threads: int, warp: int) -> None:
        self.threads, self.warp = threads, warp
        self.sets: list[Array] = []
        whole = np.ones(threads, bool)
        self.behind: Array = np.zeros((0, 0), bool)  # [number, thread]: has the thread waited for it?
        self.joined: Array = np.zeros((0, 0), np.int16)
        numbers = np.arange(threads)
        self._take([whole, *(numbers // warp == w for w in range(-(-threads // warp)))])

    def _take(self, sets: list[Array]) -> None:
        self.sets = sets
        self._behind: dict[bytes, Array] = {}
        count = FIRST + self.threads + 2 * len(sets)
        self.members = np.zeros((count, self.threads), bool)
        self.members[FIRST : FIRST + self.threads] = np.eye(self.threads, dtype=bool)
        for number, members in enumerate(sets):
            self.members[self.some(number)] = self.members[self.all(number)] = members
        self.behind = np.zeros((count, self.threads), bool)
        self.behind[NONE] = True
        self.behind[FIRST : FIRST + self.threads] = np.eye(self.threads, dtype=bool)
        for number, members in enumerate(sets):
            self.behind[self.all(number)] = members
        self.joined = self._unions(count)

    def _unions(self, count: int) -> Array:
        """The smallest set that holds both; "some" of it unless both are one number."""
        best = np.full((count, count), self.some(0), np.int16)
        order = sorted(range(len(self.sets)), key=lambda n: -int(self.sets[n].sum()))
        for number in order:
            inside = ~(self.members & ~self.sets[number]).any(axis=1)
            best[np.ix_(inside, inside)] = self.some(number)
        every = np.arange(count)
        best[NONE, :], best[:, NONE] = every, every
        best[every, every] = every
        return best

    def some(self, number: int) -> int:
        return FIRST + self.threads + 2 * number

    def all(self, number: int) -> int:
        return self.some(number) + 1

    def set_of(self, members: Array, most: int = MOST_SETS + MOST_WAITING) -> int | None:
        """The set's own number; it becomes one that is told apart. None: there are ``most`` sets already."""
        for number, known in enumerate(self.sets):
            if np.array_equal(known, members):
                return number
        if len(self.sets) > most + -(-self.threads // self.warp):
            return None
        self._take([*self.sets, members.copy()])  # numbers that exist stay the same: sets are counted up from the end
        return len(self.sets) - 1

    def some_of(self, members: Array) -> int:
        """The number of an access by these threads. Where their set is not told apart, it may be by any of the block,
        who have not met since."""
        if members.sum() == 1:
            return FIRST + int(np.argmax(members))
        number = self.set_of(members, MOST_SETS)
        return self.some(0 if number is None else number)

    def all_of(self, members: Array) -> int:
        """The number of what all of these threads have waited for. Where their set is not told apart, nobody has."""
        if members.all():
            return NONE
        number = self.set_of(members)
        return self.some(0) if number is None else self.all(number)

    def all_behind(self, members: Array) -> Array:
        """For each number, have all of these threads waited for it?"""
        key = members.tobytes()
        if key not in self._behind:
            self._behind[key] = self.behind[:, members].all(axis=1)
        return self._behind[key]

    def met(self, members: Array) -> Array:
        """For each number what it is when these threads have waited for each other. Where their set is not told apart,
        it is what it was: as if they had not."""
        number = self.set_of(members)
        after = np.arange(len(self.members), dtype=np.int16)
        if members.all():
            return np.zeros_like(after)
        if number is not None:
            inside = ~(self.members & ~members).any(axis=1)
            inside[NONE] = False
            after[inside] = self.all(number)
        return after

    def warps_met(self, members: Array) -> Array:
        """The same when the threads of each warp among ``members`` have."""
        after = np.arange(len(self.members), dtype=np.int16)
        for number in range(1, 1 + -(-self.threads // self.warp)):
            if not (self.sets[number] & ~members).any():
                inside = ~(self.members & ~self.sets[number]).any(axis=1)
                inside[NONE] = False
                after[inside] = self.all(number)
        return after
