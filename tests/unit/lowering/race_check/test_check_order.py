"""The proof that barriers order shared memory: it holds for what is lowered, and fails where a barrier is gone."""

import pytest

import tilecore.language as T
from tilecore.errors import LoweringError
from tilecore.ir.nodes import IRModule
from tilecore.lowering.race_check.check_order import check_order, conflicts_in

from .kernels import KERNELS, M, counted, kernel_of, orders_in, product, ring, shifted, without


@pytest.mark.parametrize("func", [*KERNELS, product], ids=lambda func: func.__name__)
def test_nothing_is_said_of_what_is_ordered(func):
    assert conflicts_in(kernel_of(func)) == []


# barriers that no pair of accesses of different threads needs: the pass that puts them takes a row for its elements
SPARE = {"shifted": [2], "condition": [2], "ring": [1]}


@pytest.mark.parametrize("func", KERNELS, ids=lambda func: func.__name__)
def test_every_barrier_that_is_gone_is_missed(func):
    kernel = kernel_of(func)
    orders = orders_in(kernel)
    assert orders
    spare = [number for number in range(len(orders)) if not conflicts_in(without(kernel, number))]
    assert spare == SPARE.get(func.__name__, [])


def test_a_wait_for_copies_that_is_gone_is_missed():
    kernel = kernel_of(product)
    orders = orders_in(kernel)
    assert "simt.wait_async" in orders
    misses = [bool(conflicts_in(without(kernel, number))) for number in range(len(orders))]
    assert misses[:-1] == [True] * (len(orders) - 1)  # behind the loop nothing is on its way any more


def test_both_accesses_are_named():
    kernel = kernel_of(shifted)
    with pytest.raises(LoweringError) as info:
        check_order(IRModule({"main": without(kernel, 0)}))
    text = str(info.value)
    assert "nothing orders the write of s" in text
    assert "the read of s" in text
    assert text.count("kernels.py:") >= 2


def test_steps_that_are_two_apart():
    assert len(orders_in(kernel_of(ring))) >= 2
    assert conflicts_in(kernel_of(ring)) == []


def test_the_bound_of_a_loop_is_read_before_its_body_overwrites_it():
    kernel = kernel_of(counted)
    assert all(conflicts_in(without(kernel, number)) for number in range(len(orders_in(kernel))))


def test_the_check_is_part_of_a_lowering_that_is_checked(monkeypatch):
    """As TILECORE_CHECK=1 asks for."""
    import tilecore.lowering.race_check.check_order as module
    from tilecore.lowering import pipeline

    warp_sizes = []
    monkeypatch.setattr(module, "check_order", lambda module, warp: warp_sizes.append(warp))
    monkeypatch.setattr(pipeline.debug, "check_enabled", lambda: True)
    _lower_for_simt(shifted)
    assert warp_sizes == [32]
    monkeypatch.setattr(pipeline.debug, "check_enabled", lambda: False)
    _lower_for_simt(shifted)
    assert warp_sizes == [32]


def _lower_for_simt(func):
    from types import SimpleNamespace

    from tilecore.contract.passes import PassEnv
    from tilecore.lowering.pipeline import lower
    from tilecore.lowering.simt.pipeline import IMPLEMENTATIONS
    from tilecore.target import Target

    from ..simt.kit import CAPABILITIES

    target = SimpleNamespace(contract=2)
    backend = SimpleNamespace(lowering=SimpleNamespace(family="simt", edits=()), target=target)
    return lower(func.ir, backend, PassEnv(Target("imagined"), CAPABILITIES, IMPLEMENTATIONS))


def test_iterations_that_write_one_element():
    """Only the kernel's author can mend it; the error says both lines and what to do."""

    @T.prim_func
    def kernel(X: T.Tensor((M,), "int32"), Y: T.Tensor((M,), "int32")):
        with T.Kernel(1, threads=M):
            s = T.alloc_shared((M,), "int32")
            T.copy(X, s)
            for i in T.Parallel(M):
                s[i // 2] = i
            T.copy(s, Y)

    conflicts = conflicts_in(kernel_of(kernel))
    assert conflicts
    assert "T.Parallel write the same element" in str(conflicts[0])


@pytest.mark.parametrize("threads", [32, 96, 256])
def test_whatever_the_number_of_threads(threads):
    @T.prim_func
    def kernel(X: T.Tensor((96,), "int32"), Y: T.Tensor((96,), "int32")):
        with T.Kernel(1, threads=threads):
            s = T.alloc_shared((96,), "int32")
            T.copy(X, s)
            for _ in T.serial(4):
                f = T.alloc_fragment((96,), "int32")
                for i in T.Parallel(96):
                    f[i] = s[(i + 5) % 96]
                for i in T.Parallel(96):
                    s[i] = f[i]
            T.copy(s, Y)

    thread_code = kernel_of(kernel)
    assert conflicts_in(thread_code) == []
    misses = [bool(conflicts_in(without(thread_code, number))) for number in range(len(orders_in(thread_code)))]
    assert sum(misses) >= 2
    assert all(misses[:2])


N = 32  # threads of one warp


@T.macro
def write_one_way(Y, tx, choice: T.Ref):
    """Each side of the condition writes elements that threads write which go the other way."""
    s = T.alloc_shared((N,), "int32")
    s[tx] = 1
    T.sync_threads()
    if choice > 3:
        s[(tx + 6) % N] = 0
    else:
        s[tx] = 2
    Y[tx] = s[tx]


@pytest.mark.parametrize("is_per_thread", [False, True])
def test_both_sides_of_a_condition_write_each_others_elements(is_per_thread):
    """All threads go one way where they decide on one value, which a later statement may read; else they race."""

    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            choice = T.alloc_var("int32", init=X[tx] if is_per_thread else X[1])
            write_one_way(Y, tx, choice)
            Y[tx] += choice
            T.atomic_add(Y[0], choice)

    assert bool(conflicts_in(kernel_of(kernel))) == is_per_thread


def test_a_call_may_give_each_thread_another_value():
    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            r = T.alloc_local((4,), "int32")
            T.copy(X[tx : tx + 1], r[0:1])
            write_one_way(Y, tx, r[0])

    assert conflicts_in(kernel_of(kernel))


def test_a_vote_of_the_block_is_the_same_in_all_threads():
    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            count = T.alloc_var("int32", init=T.syncthreads_count(X[tx] > 0))
            write_one_way(Y, tx, count)

    assert conflicts_in(kernel_of(kernel)) == []


@pytest.mark.parametrize(("distances", "is_ordered"), [((16, 8, 4, 2, 1), True), ((16, 8, 4, 2), False)])
def test_a_butterfly_that_a_kernel_does_itself(distances, is_ordered):
    """Threads have the same behind it only where it joins all of them."""

    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            best = T.alloc_var("int32", init=X[tx])
            for distance in distances:
                best = T.max(best, T.shfl_xor(best, distance))
            write_one_way(Y, tx, best)

    assert (conflicts_in(kernel_of(kernel)) == []) == is_ordered


def test_what_is_decided_before_a_butterfly_ends():
    """Threads differ until then, whatever they have behind it."""

    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            best = T.alloc_var("int32", init=X[tx])
            write_one_way(Y, tx, best)
            for distance in (16, 8, 4, 2, 1):
                best = T.max(best, T.shfl_xor(best, distance))
            Y[tx] += best

    assert conflicts_in(kernel_of(kernel))


def test_a_cell_that_only_some_threads_start():
    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            total = T.alloc_local((1,), "int32")
            if X[tx] > 0:
                total[0] = X[tx]
                for distance in (16, 8, 4, 2, 1):
                    total[0] = total[0] + T.shfl_xor(total[0], distance)
            write_one_way(Y, tx, total[0])

    assert conflicts_in(kernel_of(kernel))
