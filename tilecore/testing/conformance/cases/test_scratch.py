"""Scratch in T.Parallel: each iteration has its own copy of memory of a thread, as it was before the loop."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, compiled, same, sample, zeros

SIZES = [5, 16, 67]


@pytest.mark.parametrize("n", SIZES)
def test_a_variable_that_is_read_first(target, n):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), Y: T.Tensor((3, n), "float32")):
        with T.Kernel(1):
            total = T.alloc_var("float32", init=10.0)
            latest = T.alloc_var("float32", init=-1.0)
            other = T.alloc_var("float32", init=3.0)
            for i in T.Parallel(n):
                total += A[i]
                Y[0, i] = total
            for i in T.Parallel(n):
                if A[i] > 0:
                    latest = A[i]
                Y[1, i] = latest
            for i in T.Parallel(n):
                Y[2, i] = T.if_then_else(i > 2, other, 0.0)
                other = A[i]

    a = sample("float32", n)
    _, y = check(kernel, target, a, zeros("float32", (3, n)))
    same(y[0], np.float32(10) + a)
    same(y[1], np.where(a > 0, a, np.float32(-1)))


@pytest.mark.parametrize("n", SIZES)
def test_an_array(target, n):
    """Filled before the loop, some elements written before they are read, others after."""

    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), Y: T.Tensor((n, 4), "int32")):
        with T.Kernel(1):
            t = T.alloc_local((4,), "int32")
            for k in T.serial(4):
                t[k] = 100 * k
            for i in T.Parallel(n):
                t[0] += A[i]
                t[3] = t[1] + t[0]
                t[1] = -5
                for k in T.serial(4):
                    Y[i, k] = t[k]

    check(kernel, target, sample("int32", n), zeros("int32", (n, 4)))


def test_written_by_a_loop_before_it_is_read(target):
    @T.prim_func
    def kernel(A: T.Tensor((24, 8), "int32"), Y: T.Tensor((24, 8), "int32")):
        with T.Kernel(1):
            t = T.alloc_local((8,), "int32")
            for i in T.Parallel(24):
                for k in T.vectorized(8):
                    t[k] = A[i, k] * 2
                for k in T.serial(8):
                    Y[i, k] = t[7 - k]

    a = sample("int32", (24, 8))
    _, y = check(kernel, target, a, zeros("int32", (24, 8)))
    same(y, 2 * a[:, ::-1])


def test_values_that_agree_stay(target):
    """All iterations leave the same value: the code after the loop, and its next round, read it."""

    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), Y: T.Tensor((3, 32), "int32"), Z: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            n = T.alloc_var("int32", init=1)
            m = T.alloc_var("int32", init=3)
            for step in T.serial(3):
                for i in T.Parallel(32):
                    Y[step, i] = n * A[i]
                    n = n * 2 + step
                    m = 7
                Z[step] = n
            Z[3] = m

    _, _, z = check(kernel, target, sample("int32", 32), zeros("int32", (3, 32)), zeros("int32", 4))
    assert z.tolist() == [2, 5, 12, 7]


def test_no_iteration_leaves_it_as_it_was(target):
    @T.prim_func
    def kernel(n: T.int32, Y: T.Tensor((2,), "int32")):
        with T.Kernel(1):
            t = T.alloc_var("int32", init=4)
            for _ in T.Parallel(n):
                t = t + 1
                Y[0] = t
            Y[1] = t

    assert check(kernel, target, 0, zeros("int32", 2))[0].tolist() == [0, 4]
    assert check(kernel, target, 3, zeros("int32", 2))[0].tolist() == [5, 5]


def test_nests_and_levels(target):
    @T.prim_func
    def kernel(A: T.Tensor((6, 9), "int32"), Y: T.Tensor((6, 9), "int32"), Z: T.Tensor((6, 9), "int32")):
        with T.Kernel(2) as b:
            s = T.alloc_var("int32", init=b)
            u = T.alloc_var("int32", init=b + 5)
            for i, j in T.Parallel(3, 9):
                s += A[b * 3 + i, j]
                Y[b * 3 + i, j] = s
            for i in T.Parallel(3):
                u += i
                for j in T.serial(9):
                    Z[b * 3 + i, j] = u * j

    check(kernel, target, sample("int32", (6, 9)), zeros("int32", (6, 9)), zeros("int32", (6, 9)))


def test_through_a_view(target):
    @T.prim_func
    def kernel(A: T.Tensor((20,), "int32"), Y: T.Tensor((20, 4), "int32")):
        with T.Kernel(1):
            t = T.alloc_local((4,), "int32")
            v = T.reshape(t, (2, 2))
            for k in T.serial(4):
                t[k] = k
            for i in T.Parallel(20):
                v[1, 0] = v[1, 0] + A[i]
                for k in T.serial(4):
                    Y[i, k] = t[k]

    check(kernel, target, sample("int32", 20), zeros("int32", (20, 4)))


def test_with_a_reducer(target):
    @T.prim_func
    def kernel(A: T.Tensor((8, 32), "int32"), Y: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            total = T.alloc_reducer((8,), "int32")
            T.clear(total)
            s = T.alloc_var("int32", init=1)
            for i, j in T.Parallel(8, 32):
                s += A[i, j]
                total[i] += s
            T.finalize_reducer(total)
            T.copy(total, Y)

    a = sample("int32", (8, 32))
    _, y = check(kernel, target, a, zeros("int32", 8))
    same(y, a.sum(1, dtype=np.int32) + 32)


def test_scratch_does_not_stand_in_the_way_of_vectors():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            t = T.alloc_var("float32", init=1.0)
            for i in T.Parallel(64):
                t = t + A[i]
                Y[i] = t * t

    report = compiled(kernel, "cpu").artifact.report
    assert "not_vectorized" not in report


def test_memory_that_nobody_uses(target):
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            T.alloc_shared((64, 64), "float16")
            T.alloc_fragment((64,), "float16")
            T.alloc_local((4,), "int32")
            used = T.alloc_shared((64,), "float32")
            T.copy(A, used)
            T.copy(used, Y)

    check(kernel, target, sample("float32", 64), zeros("float32", 64))
