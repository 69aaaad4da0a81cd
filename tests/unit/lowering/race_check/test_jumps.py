"""The proof of order where loops are left, or go on, in the middle of a step."""

import numpy as np
import pytest

import tilecore.language as T
from tilecore.lowering.race_check.check_order import conflicts_in
from tilecore.lowering.race_check.groups import FIRST, MAX_ACCESSING_SETS, MAX_SYNCHRONIZED_SETS, NONE, Groups
from tilecore.lowering.race_check.memory import Memory, Site

from ..simt.kit import lowered
from .kernels import orders_in, without

N = 64


def barriers_missed(func) -> list[bool]:
    """Of each barrier of the kernel, whether the proof misses it when it is gone; the whole kernel is proved."""
    module, _ = lowered(func)
    (kernel,) = module.functions.values()
    assert conflicts_in(kernel) == []
    return [bool(conflicts_in(without(kernel, number))) for number in range(len(orders_in(kernel)))]


def behind_a_break(decided: bool, waits: bool):
    """The tile is written, the loop is left by a statement that does nothing else, and then the tile is read."""

    @T.prim_func
    def kernel(X: T.Tensor((4, N), "int32"), F: T.Tensor((4,), "int32"), Y: T.Tensor((5, N), "int32")):
        with T.Kernel(1, threads=N):
            s = T.alloc_shared((N,), "int32")
            for k in T.serial(4):
                T.copy(X[k, :], s)
                if (k == 2) if decided else F[k] > 0:
                    break
                if waits:
                    T.sync_threads()
                    for i in T.Parallel(N):
                        Y[k, i] = s[N - 1 - i]
                    T.sync_threads()
            for i in T.Parallel(N):
                Y[4, i] = s[N - 1 - i]

    return kernel


@pytest.mark.parametrize("decided", [True, False])
@pytest.mark.parametrize("waits", [True, False])
def test_what_is_open_at_a_break_is_open_behind_the_loop(decided, waits):
    assert barriers_missed(behind_a_break(decided, waits))[-1]


@pytest.mark.parametrize("decided", [True, False])
def test_what_is_open_at_a_continue_is_open_in_the_next_step(decided):
    @T.prim_func
    def kernel(X: T.Tensor((4, N), "int32"), F: T.Tensor((4,), "int32"), Y: T.Tensor((4, N), "int32")):
        with T.Kernel(1, threads=N):
            s = T.alloc_shared((N,), "int32")
            for k in T.serial(4):
                T.sync_threads()
                for i in T.Parallel(N):
                    Y[k, i] = s[N - 1 - i]
                T.sync_threads()
                T.copy(X[k, :], s)
                if (k == 1) if decided else F[k] > 0:
                    continue
                T.sync_threads()

    missed = barriers_missed(kernel)
    assert missed[0]  # at the head of a step: before the last one was cut short, nobody waited


@pytest.mark.parametrize("steps", [2, 40, 60])
def test_a_while_that_only_a_break_ends(steps):
    @T.prim_func
    def kernel(X: T.Tensor((N, N), "int32"), Y: T.Tensor((2, N), "int32")):
        with T.Kernel(1, threads=N):
            s = T.alloc_shared((N,), "int32")
            n = T.alloc_var("int32", init=0)
            while n >= 0:
                T.sync_threads()
                T.copy(X[n, :], s)
                n += 1
                if n == steps:
                    break
                T.sync_threads()
                for i in T.Parallel(N):
                    Y[0, i] = s[N - 1 - i]
            for i in T.Parallel(N):
                Y[1, i] = s[N - 1 - i]

    assert barriers_missed(kernel)[-1]


def test_what_follows_a_while_whose_steps_repeat_themselves():
    @T.prim_func
    def kernel(X: T.Tensor((N, N), "int32"), Y: T.Tensor((2, N), "int32")):
        with T.Kernel(1, threads=N):
            s, t = T.alloc_shared((N,), "int32"), T.alloc_shared((N,), "int32")
            n = T.alloc_var("int32", init=0)
            while n < 30:
                T.sync_threads()
                T.copy(X[n, :], s)
                T.sync_threads()
                for i in T.Parallel(N):
                    Y[0, i] = s[N - 1 - i]
                n += 1
            T.copy(X[0, :], t)
            for i in T.Parallel(N):
                Y[1, i] = t[N - 1 - i]

    assert barriers_missed(kernel)[-1]


def test_ways_of_different_steps_are_taken_at_the_same_time():
    """One thread may be a step behind another: no barrier is in the loop, which this proof must not take for order."""

    @T.prim_func
    def kernel(X: T.Tensor((4, N), "int32"), F: T.Tensor((4,), "int32"), Y: T.Tensor((4, N), "int32")):
        with T.Kernel(1, threads=N):
            s = T.alloc_shared((N,), "int32")
            for k in T.serial(4):
                if F[k] > 0:
                    T.copy(X[k, :], s)
                else:
                    for i in T.Parallel(N):
                        Y[k, i] = s[N - 1 - i]

    module, _ = lowered(kernel)
    (proved,) = module.functions.values()
    assert conflicts_in(proved) == []
    while orders_in(proved):
        proved = without(proved, 0)
    assert any("read of s" in str(each) and "write of s" in str(each) for each in conflicts_in(proved))


@pytest.mark.parametrize(("distance", "is_ordered"), [(N, True), (32, False)])
def test_a_name_that_some_threads_give_a_value(distance, is_ordered):
    """The first warp moves on: behind the elements of the second one, or onto them."""

    @T.prim_func
    def kernel(Y: T.Tensor((2 * N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s, t = T.alloc_shared((2 * N,), "int32"), T.alloc_shared((N,), "int32")
            n = T.alloc_var("int32", init=0)
            if tx < 32:
                n = distance
                t[tx] = 1
            s[tx + n] = 2
            Y[tx + n] = s[tx + n]

    module, _ = lowered(kernel, left_out=("insert_barriers",))
    (proved,) = module.functions.values()
    assert (conflicts_in(proved) == []) == is_ordered


def test_sets_that_are_not_told_apart_have_not_met():
    groups = Groups(64, 32)
    for number in range(MAX_ACCESSING_SETS + MAX_SYNCHRONIZED_SETS + 8):
        members = np.zeros(64, bool)
        members[[number % 60, number % 60 + 1, 62 - number // 60]] = True
        groups.set_of(members)
    memory, cells, site = Memory(groups, 4), np.array([0]), Site(1, "write", None)
    half = np.arange(64) < 40
    assert groups.set_of(half) is None
    memory.write(site, cells, np.array([3]))
    memory.synchronize(half)
    assert memory.writer[0] == FIRST + 3  # as if nobody had waited
    assert memory.read(site, cells, np.array([50])) is not None
    assert memory.read(site, cells, np.array([3])) is None
    assert not groups.ordered[groups.some_of(half)].any()
    assert groups.all_of(half) == groups.some(0)
    memory.synchronize(np.ones(64, bool))
    assert memory.writer[0] == NONE
    assert memory.read(site, cells, np.array([50])) is None


def test_sets_of_accesses_leave_some_for_those_that_wait():
    groups = Groups(64, 32)
    for number in range(MAX_ACCESSING_SETS + 8):
        members = np.zeros(64, bool)
        members[[number % 60, number % 60 + 1, 62]] = True
        groups.some_of(members)
    half = np.arange(64) < 40
    memory, cells, site = Memory(groups, 4), np.array([0]), Site(1, "write", None)
    memory.write(site, cells, np.array([3]))
    memory.synchronize(half)
    assert memory.read(site, cells, np.array([30])) is None
    assert memory.read(site, cells, np.array([50])) is not None
