"""name_barriers: T.sync_threads(number, threads) beside T.named_barrier_arrive is the barrier of that number."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_kit import needs_compiler
from test_expert_pieces import check

import tilecore.language as T
from tilecore.errors import LanguageError

from .one_pass import around_pass, changes

PASS = "name_barriers"
pytestmark = [needs_compiler, pytest.mark.usefixtures("installed")]


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_some_threads_arrive_at_a_named_barrier_and_others_wait(arch):
    """A mailbox between two warps: one fills it and goes on, the other waits for it, and says when it is empty."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            slot = T.alloc_shared((1,), "int32")
            for k in T.serial(8):
                if tx < 32:
                    if k > 0:
                        T.sync_threads(11, 64)
                    if tx == 0:
                        slot[0] = A[k] + 1
                    T.named_barrier_arrive(10, 64)
                else:
                    T.sync_threads(10, 64)
                    if tx == 32:
                        B[k] = slot[0]
                    if k < 7:
                        T.named_barrier_arrive(11, 64)

    a = np.arange(8, dtype=np.int32) * 3
    source = check(kernel, a, expected=a + 1, target=f"cuda -arch={arch}")
    assert "tc_named_barrier_arrive(10, 64);" in source
    assert "tc_named_barrier(11, 64);" in source


def test_some_threads_wait_for_one_another():
    """A condition on threads around T.sync_threads(number, count) is a range of threads with a named barrier."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            sums = T.alloc_shared((64,), "int32")
            value = T.alloc_var("int32")
            if tx < 64:
                sums[tx] = X[tx]
            T.sync_threads()
            if tx < 64:
                for i in T.serial(6):
                    T.sync_threads(3, 64)
                    if tx < 64 - (1 << i):
                        value = sums[tx] + sums[tx + (1 << i)]
                    T.sync_threads(3, 64)
                    if tx < 64 - (1 << i):
                        sums[tx] = value
            T.sync_threads()
            if tx < 64:
                Y[tx] = sums[tx]

    x = np.arange(64, dtype=np.int32)
    source = check(kernel, x, expected=np.cumsum(x[::-1], dtype=np.int32)[::-1].copy(), target="cuda -arch=sm_80")
    assert "tc_named_barrier(1, 64);" in source


def waiting(number, count, arrives=True):
    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if tx < 32:
                if arrives:
                    T.named_barrier_arrive(10, 64)
            else:
                T.sync_threads(number, count)
                A[tx - 32] = 1

    return kernel


def test_a_kernel_with_arrivals_has_the_barriers_that_it_names():
    before, after, _ = around_pass(waiting(10, 64), PASS)
    removed, added = changes(before, after).splitlines()
    assert "tile.sync_threads" in removed
    assert added == "+ T.simt.named_barrier(10, 64)"


def test_a_kernel_without_arrivals_is_left_alone():
    before, after, _ = around_pass(waiting(10, 32, arrives=False), PASS)
    assert changes(before, after) == ""


@pytest.mark.parametrize(("number", "count"), [(0, 64), (16, 64), (3, 33)])
def test_numbers_that_the_chip_does_not_have_are_refused(number, count):
    with pytest.raises(LanguageError, match="named_barrier_arrive") as caught:
        around_pass(waiting(number, count), PASS)
    assert f"barrier_id={number}, arrive_count={count}" in str(caught.value.found)
    assert caught.value.location is not None


@pytest.mark.parametrize(("count", "inserted"), [(64, 0), (32, 1)])
def test_a_named_barrier_of_all_threads_of_a_role_orders_their_accesses(count, inserted):
    """No barrier is inserted beside one that the kernel names; one of fewer threads does not stand for it."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            turned = T.alloc_shared((64,), "int32")
            if tx < 64:
                turned[tx] = X[tx]
                T.sync_threads(5, count)
                Y[tx] = turned[63 - tx]
                T.named_barrier_arrive(6, 128)
            else:
                T.sync_threads(6, 128)

    x = np.arange(64, dtype=np.int32)
    source = check(kernel, x, expected=x[::-1].copy(), target="cuda -arch=sm_80")
    assert f"tc_named_barrier(5, {count});" in source
    assert source.count("tc_named_barrier(") == 2 + inserted
