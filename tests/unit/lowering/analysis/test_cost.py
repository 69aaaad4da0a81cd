"""What a block costs at most: the GIL is kept only for kernels that are surely short."""

from __future__ import annotations

import tilecore
import tilecore.language as T
from tilecore.runtime.launcher_py import GIL_KEPT


def longest(function):
    (entry,) = tilecore.compile(function, target="cpu").artifact.entries
    return entry.longest


def test_short_kernels_are_known_to_be_short():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(64):
                B[i] = A[i] + 1

    assert 0 < longest(kernel) < GIL_KEPT


def test_nothing_bounds_a_loop_that_ends_by_data_or_sizes():
    @T.prim_func
    def by_data(A: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            while A[0] > 0:
                A[0] = A[0] - 1

    M = T.dynamic("M")

    @T.prim_func
    def by_size(A: T.Tensor((M,), "int32")):
        with T.Kernel(1):
            for i in T.serial(M):
                A[i] = A[i] + 1

    @T.prim_func
    def by_value(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for i in T.serial(A[0]):
                A[1] = A[1] + i

    @T.prim_func
    def inside(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for i in T.serial(4):
                if A[i] > 2:
                    while A[i] > 0:
                        A[i] = A[i] - 1

    assert [longest(f) for f in (by_data, by_size, by_value, inside)] == [0, 0, 0, 0]


def test_a_loop_of_no_iterations_takes_no_time():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for i in T.serial(0):
                while A[i] > 0:
                    A[i] = A[i] - 1
            A[0] = 1

    assert 0 < longest(kernel) < GIL_KEPT


def test_arithmetic_counts_and_not_only_stores():
    @T.prim_func
    def kernel(A: T.Tensor((1,), "float32")):
        with T.Kernel(1):
            total = T.alloc_var("float32")
            total = A[0]
            for _ in T.serial(100000):
                total = T.sin(total) * T.cos(total) + T.exp(total)
            A[0] = total

    assert longest(kernel) > GIL_KEPT


def test_vectors_that_go_to_memory_count_for_what_they_take_there():
    """Copies that were taken for shorter than they are ran on one thread."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 4096), "float32"), B: T.Tensor((4, 4096), "float32")):
        with T.Kernel(4) as row:
            for i in T.Parallel(4096):
                B[row, i] = A[row, i]

    (entry,) = tilecore.compile(kernel, target="cpu -march=x86-64-v4").artifact.entries
    assert 4096 * 4 / 128 < entry.work < 4096 * 4 / 8, "nanoseconds: between 8 and 128 bytes each"


def test_vectors_of_any_type_have_a_cost():
    @T.prim_func
    def kernel(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "bool")):
        with T.Kernel(1):
            for i in T.Parallel(256):
                B[i] = A[i] > 0

    (entry,) = tilecore.compile(kernel, target="cpu").artifact.entries
    assert entry.work > 0
