"""The abstract state of shared memory against a list of all accesses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.lowering.race_check.check_order import conflicts_in
from tilecore.lowering.race_check.groups import Groups
from tilecore.lowering.race_check.memory import Memory, Site

from .kernels import kernel_of, orders_in, without

THREADS, WARP = 8, 4
ADD, MAX = 1, 2  # kinds of atomic operations
CELL = np.array([0])


class AccessList:
    """Keeps each access of one cell with the threads that are ordered after it, and compares every pair."""

    def __init__(self):
        self.accesses = []

    def conflicts(self, thread, writes, kind):
        for earlier_writes, earlier_kind, ordered_threads in self.accesses:
            same_atomic = kind and kind == earlier_kind
            if (writes or earlier_writes) and not same_atomic and thread not in ordered_threads:
                return True
        return False

    def add(self, thread, writes, kind):
        self.accesses.append((writes, kind, {thread}))

    def synchronize(self, members):
        for _, _, ordered_threads in self.accesses:
            if ordered_threads & members:
                ordered_threads |= members


def mask(members):
    return np.isin(np.arange(THREADS), list(members))


ACCESSES = st.tuples(st.integers(0, THREADS - 1), st.sampled_from([(False, 0), (True, 0), (True, ADD), (True, MAX)]))
BARRIERS = st.sampled_from(["block", "warps", "first warp", "half of each warp"])
MEMBERS = {"block": set(range(8)), "first warp": {0, 1, 2, 3}, "half of each warp": {0, 1, 4, 5}}


@given(st.lists(st.one_of(ACCESSES, ACCESSES, BARRIERS), max_size=12), st.integers(0, 12))
def test_every_conflict_of_two_accesses_is_reported(steps, branch_at):
    """The state finds the conflict that the list finds first. It may find one earlier: it is conservative."""
    memory, accesses = Memory(Groups(THREADS, WARP), 1), AccessList()
    for position, step in enumerate(steps):
        if position == branch_at:
            memory = memory.merged_with(Memory(memory.groups, 1))  # a path that skips the steps so far
        if step == "warps":
            memory.synchronize_warps(np.ones(THREADS, bool))
            accesses.synchronize({0, 1, 2, 3})
            accesses.synchronize({4, 5, 6, 7})
        elif isinstance(step, str):
            memory.synchronize(mask(MEMBERS[step]))
            accesses.synchronize(MEMBERS[step])
        else:
            thread, (writes, kind) = step
            threads, site = np.array([thread]), Site(1, "access", None)
            conflict = memory.write(site, CELL, threads, kind) if writes else memory.read(site, CELL, threads)
            if accesses.conflicts(thread, writes, kind):
                assert conflict is not None
                return
            if conflict is not None:
                return
            accesses.add(thread, writes, kind)


def test_an_atomic_operation_does_not_hide_the_write_before_it():
    memory, site = Memory(Groups(THREADS, WARP), 1), Site(1, "access", None)
    first, second = np.array([0]), np.array([5])
    assert memory.write(site, CELL, first) is None
    assert memory.write(site, CELL, first, ADD) is None
    assert memory.write(site, CELL, second, ADD) is not None


def test_atomic_operations_of_one_kind_need_no_order():
    memory, site = Memory(Groups(THREADS, WARP), 1), Site(1, "access", None)
    assert memory.write(site, CELL, np.array([0])) is None
    memory.synchronize(np.ones(THREADS, bool))
    for thread in range(THREADS):
        assert memory.write(site, CELL, np.array([thread]), ADD) is None
    assert memory.write(site, CELL, np.array([5]), MAX) is not None
    assert memory.read(site, CELL, np.array([5])) is not None


def test_two_kinds_of_atomic_operations_by_ordered_threads():
    memory, site = Memory(Groups(THREADS, WARP), 1), Site(1, "access", None)
    assert memory.write(site, CELL, np.array([0]), ADD) is None
    assert memory.write(site, CELL, np.array([0]), MAX) is None
    assert memory.write(site, CELL, np.array([5]), MAX) is not None  # thread 0 has added


@pytest.mark.parametrize("kinds", [(ADD, MAX), (MAX, ADD)])
def test_paths_with_different_atomic_operations_meet(kinds):
    site = Site(1, "access", None)
    groups = Groups(THREADS, WARP)
    paths = [Memory(groups, 1), Memory(groups, 1)]
    for memory, kind in zip(paths, kinds, strict=True):
        assert memory.write(site, CELL, np.array([0]), kind) is None
    for kind in (ADD, MAX):
        assert paths[0].merged_with(paths[1]).write(site, CELL, np.array([5]), kind) is not None
    assert paths[0].merged_with(paths[0]).write(site, CELL, np.array([5]), kinds[0]) is None


@T.prim_func
def counters(X: T.Tensor((64,), "int32"), Y: T.Tensor((1,), "int32")):
    """Each thread clears a counter and adds to it; then each adds to the counter of another thread."""
    with T.Kernel(1, threads=64):
        counts = T.alloc_shared((64,), "int32")
        for i in T.Parallel(64):
            counts[i] = X[i]
            T.atomic_add(counts[i], 1)
        for i in T.Parallel(64):
            T.atomic_add(counts[63 - i], 1)
        T.sync_threads()
        Y[0] = counts[0]


def test_the_barrier_between_a_write_and_another_threads_atomic_operation_is_needed():
    kernel = kernel_of(counters)
    assert conflicts_in(kernel) == []
    missed = [bool(conflicts_in(without(kernel, number))) for number in range(len(orders_in(kernel)))]
    assert missed
    assert all(missed), missed
