"""Values that are read, then used when their memory has changed: what counts is what was there when Python reads it."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import UnsupportedError

from .features import has_feature
from .kit import compiled, sample, zeros


@pytest.mark.parametrize("parallel", [False, True])
def test_two_stores_of_a_call_in_place(target, parallel):
    """Python reads both values before it stores either, and A and B are one tensor."""
    loop = T.Parallel if parallel else T.serial

    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32"), C: T.Tensor((32,), "int32")):
        with T.Kernel(1):
            for i in loop(32):
                B[i], C[i] = A[i] + 1, A[i] * 2

    array, other = sample("int32", 32), zeros("int32", 32)
    before = array.copy()
    compiled(kernel, target)(array, array, other)
    np.testing.assert_array_equal(array, before + 1)
    np.testing.assert_array_equal(other, before * 2)


def test_the_bound_of_a_loop_whose_memory_the_loop_changes(target):
    """range() reads it once, at the beginning."""

    @T.prim_func
    def kernel(N: T.Tensor((4,), "int32"), Y: T.Tensor((64,), "int32"), Z: T.Tensor((64,), "int32")):
        with T.Kernel(1):
            for i in T.serial(N[1]):
                N[1] = N[1] + 2
                Y[i] = N[1]
            for i in T.serial(N[2], N[3]):
                N[3] = N[3] - 2
                N[2] = N[2] + 1
                for j in T.serial(N[0]):
                    N[0] = 5
                    Z[i * 8 + j] = N[3]

    n, y, z = np.array([3, 6, 1, 5], np.int32), zeros("int32", 64), zeros("int32", 64)
    numbers, first, second = n.tolist(), [0] * 64, [0] * 64
    for i in range(numbers[1]):
        numbers[1] += 2
        first[i] = numbers[1]
    for i in range(numbers[2], numbers[3]):
        numbers[3] -= 2
        numbers[2] += 1
        for j in range(numbers[0]):
            numbers[0] = 5
            second[i * 8 + j] = numbers[3]
    compiled(kernel, target)(n, y, z)
    assert n.tolist() == numbers
    assert y.tolist() == first
    assert z.tolist() == second


def test_the_bound_of_a_loop_that_a_call_in_place_changes(target):
    @T.prim_func
    def kernel(N: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1):
            for i in T.serial(N[0]):
                Y[i] = 50

    n = zeros("int32", 64)
    n[0] = 6
    compiled(kernel, target)(n, n)
    assert n.tolist() == [50] * 6 + [0] * 58


def test_an_index_beyond_the_range_of_a_loop_whose_bound_has_changed(target):
    """The bounds of the tensor are checked by what the loop's variable is, not by what its bound has become."""

    @T.prim_func
    def kernel(N: T.Tensor((4,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1):
            if N[1] <= 64:
                for i in T.serial(N[1]):
                    N[1] = 8
                    for j in T.Parallel(8):
                        Y[i - N[1] + 60 + j] = i

    n, y, expected = np.array([0, 12, 0, 0], np.int32), zeros("int32", 64), np.zeros(64, np.int32)
    for i in range(12):
        first = i - 8 + 60
        expected[first : first + 8] = i
    compiled(kernel, target)(n, y)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_pipelined_copy_of_memory_that_the_loop_updates(target, stages):
    """T.Pipelined is T.serial in its result: the copies of the next step wait for the atomics of this one."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 32), "int32"), Y: T.Tensor((4, 32), "int32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((32,), "int32")
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[k, 0:32], tile)
                for i in T.Parallel(32):
                    Y[k, i] = tile[i]
                if k < 3:
                    for i in T.Parallel(32):
                        T.atomic_add(A[k + 1, i], 10 + tile[i])

    a = sample("int32", (4, 32))
    expected = a.copy()
    for k in range(3):
        expected[k + 1] += 10 + expected[k]
    y = zeros("int32", (4, 32))
    compiled(kernel, target)(a, y)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("atomic", [False, True])
def test_a_table_of_pages_that_the_loop_updates(target, atomic, named):
    """Which page the next step copies is known when this one is done."""

    @T.prim_func
    def kernel(
        A: T.Tensor((8, 64, 64), "float16"),
        B: T.Tensor((64, 64), "float16"),
        P: T.Tensor((4,), "int32"),
        Y: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            T.copy(B, b)
            for k in T.Pipelined(4, num_stages=2):
                if named:
                    page = P[k]
                    T.copy(A[page, 0:64, 0:64], a)
                else:
                    T.copy(A[P[k], 0:64, 0:64], a)
                T.gemm(a, b, c)
                if k < 3:
                    if atomic:
                        T.atomic_add(P[k + 1], 4)
                    else:
                        P[k + 1] = P[k + 1] + 4
            T.copy(c, Y)

    numbers = np.random.default_rng(0)
    a = numbers.integers(-3, 4, (8, 64, 64)).astype(np.float16)
    b = numbers.integers(-3, 4, (64, 64)).astype(np.float16)
    pages, y = np.arange(4, dtype=np.int32), zeros("float32", (64, 64))
    compiled(kernel, target)(a, b, pages, y)
    assert pages.tolist() == [0, 5, 6, 7]
    np.testing.assert_array_equal(y, sum(a[page].astype(np.float32) for page in pages) @ b.astype(np.float32))


def test_an_atomic_in_front_of_a_pipelined_product_runs_once(target):
    @T.prim_func
    def kernel(
        A: T.Tensor((64, 256), "float16"),
        B: T.Tensor((256, 64), "float16"),
        N: T.Tensor((2,), "int32"),
        Y: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            ticket = T.atomic_add(N[0], 1, return_prev=True)
            N[1] = ticket
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, Y)

    numbers = np.random.default_rng(0)
    a = numbers.integers(-3, 4, (64, 256)).astype(np.float16)
    b = numbers.integers(-3, 4, (256, 64)).astype(np.float16)
    tickets, y = np.array([7, 0], np.int32), zeros("float32", (64, 64))
    compiled(kernel, target)(a, b, tickets, y)
    assert tickets.tolist() == [8, 7]
    np.testing.assert_array_equal(y, a.astype(np.float32) @ b.astype(np.float32))


def test_a_product_that_is_read_through_a_view_once_it_is_stored(target):
    @T.prim_func
    def kernel(
        A: T.Tensor((64, 256), "float16"),
        B: T.Tensor((256, 64), "float16"),
        C: T.Tensor((64, 64), "float16"),
        Y: T.Tensor((64, 64), "float16"),
    ):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            row = T.view(C, (4096,))
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)
            for i, j in T.Parallel(64, 64):
                Y[i, j] = row[4095 - (i * 64 + j)]

    numbers = np.random.default_rng(0)
    a = numbers.integers(-3, 4, (64, 256)).astype(np.float16)
    b = numbers.integers(-3, 4, (256, 64)).astype(np.float16)
    c, y = zeros("float16", (64, 64)), zeros("float16", (64, 64))
    compiled(kernel, target)(a, b, c, y)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(c, expected)
    np.testing.assert_array_equal(y.reshape(-1), expected.reshape(-1)[::-1])


def test_a_function_of_the_users_own_writes(target):
    """What was read before the call is what was there before it, though it is used after it."""
    source = """
#ifdef TC_SPACES
template <typename Pointer> TC_FN void add_to(Pointer p, int n) { *p += n; }
#else
TC_FN void add_to(int* p, int n) { *p += n; }
#endif
"""

    @T.prim_func
    def kernel(N: T.Tensor((4,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            T.import_source(source)
            if T.get_thread_binding() == 0:
                old = [N[0]]
                if N[0] <= 56 and N[0] >= 0:
                    T.call_extern("handle", "add_to", T.access_ptr(N[0], "rw"), 52)
                    for i in T.serial(4):
                        Y[N[0] + i] = old[0]

    if not has_feature(target, "source"):
        with pytest.raises(UnsupportedError):
            compiled(kernel, target)
        return
    n, y = np.array([8, 0, 0, 0], np.int32), zeros("int32", 64)
    compiled(kernel, target)(n, y)
    assert n[0] == 60
    assert y.tolist() == [0] * 60 + [8] * 4
