"""privatize_scratch: iterations of T.Parallel get their own copies of memory that all of them write at one place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.testing.kernel_text import lines

from ..one_pass import LOOPS, SIMT, after_pass, around_pass, before_and_after, interpreted

PASS = "privatize_scratch"


def unchanged(kernel) -> bool:
    before, after = before_and_after(kernel, PASS)
    return before == after


@pytest.mark.parametrize("target", [SIMT, LOOPS])
def test_scratch_that_nothing_reads_afterwards_is_allocated_in_the_loop(target):
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            t = T.alloc_local((2,), "float32")
            for i in T.Parallel(64):
                t[0] = X[i]
                t[1] = t[0] * 2
                Y[i] = t[0] + t[1]

    assert after_pass(kernel, PASS, target) == lines(
        """
        t = T.alloc_local((2,), layout=None)
        for i in T.parallel(64, annotations={"tile.loop": "parallel"}):
            t_own = T.alloc_local((2,), layout=None)
            t_own[0] = X[i]
            t_own[1] = t_own[0] * T.float32(2.0)
            Y[i] = t_own[0] + t_own[1]
        """
    )


def test_scratch_that_is_read_first_starts_with_what_the_memory_held():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            t = T.alloc_local((3,), "int32")
            for e in T.serial(3):
                t[e] = 5
            for i in T.Parallel(64):
                t[0] = t[0] + X[i]
                Y[i] = t[0]

    _, after, _ = around_pass(kernel, PASS)
    assert after_pass(kernel, PASS) == lines(
        """
        t = T.alloc_local((3,), "int32", layout=None)
        for e in T.serial(3, annotations={"tile.loop": "serial"}):
            t[e] = 5
        for i in T.parallel(64, annotations={"tile.loop": "parallel"}):
            t_own = T.alloc_local((3,), "int32", layout=None)
            for e in range(3):
                t_own[e] = t[e]
            t_own[0] = t_own[0] + X[i]
            Y[i] = t_own[0]
        """
    )
    x = np.arange(64, dtype=np.int32)
    np.testing.assert_array_equal(interpreted(after, x, x)[1], x + 5)


def test_scratch_that_is_read_afterwards_keeps_its_place_and_is_restored():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32"), Z: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            t = T.alloc_local((1,), "float32")
            t[0] = 5
            for i in T.Parallel(64):
                t[0] = t[0] + X[i]
                Y[i] = t[0]
            Z[0] = t[0]

    assert after_pass(kernel, PASS) == lines(
        """
        t = T.alloc_local((1,), layout=None)
        t[0] = T.float32(5.0)
        t_before = T.alloc_local((1,), layout=None)
        t_before[0] = t[0]
        for i in T.parallel(64, annotations={"tile.loop": "parallel"}):
            t[0] = t_before[0]
            t[0] = t[0] + X[i]
            Y[i] = t[0]
        Z[0] = t[0]
        """
    )


def test_scratch_that_the_next_step_of_a_loop_reads_counts_as_read_afterwards():
    @T.prim_func
    def kernel(X: T.Tensor((4, 64), "float32"), Y: T.Tensor((4, 64), "float32")):
        with T.Kernel(1, threads=32):
            t = T.alloc_local((1,), "float32")
            t[0] = 0
            for k in T.serial(4):
                for i in T.Parallel(64):
                    Y[k, i] = t[0] + X[k, i]
                    t[0] = k

    after = after_pass(kernel, PASS)
    assert "t_before[0] = t[0]" in after
    assert "t_own" not in after


def test_nested_parallel_loops_have_one_copy_in_the_innermost():
    @T.prim_func
    def kernel(X: T.Tensor((8, 8), "float32"), Y: T.Tensor((8, 8), "float32")):
        with T.Kernel(1, threads=32):
            t = T.alloc_local((1,), "float32")
            for i, j in T.Parallel(8, 8):
                t[0] = X[i, j]
                Y[j, i] = t[0]

    assert after_pass(kernel, PASS) == lines(
        """
        t = T.alloc_local((1,), layout=None)
        for i in T.parallel(8, annotations={"tile.loop": "parallel"}):
            for j in T.parallel(8, annotations={"tile.loop": "parallel"}):
                t_own = T.alloc_local((1,), layout=None)
                t_own[0] = X[i, j]
                Y[j, i] = t_own[0]
        """
    )


def test_a_variable_of_the_kernel_is_scratch_too():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            total = T.alloc_var("int32", init=0)
            for i in T.Parallel(64):
                total = 0
                for k in T.serial(3):
                    total += X[i] * k
                Y[i] = total

    _, after, _ = around_pass(kernel, PASS)
    assert "total_own" in after_pass(kernel, PASS)
    x = np.arange(64, dtype=np.int32)
    np.testing.assert_array_equal(interpreted(after, x, np.zeros_like(x))[1], x * 3)


def test_memory_with_views_stays_where_it_is():
    """A copy in the loop would have no view."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "uint32")):
        with T.Kernel(1, threads=32):
            t = T.alloc_local((1,), "float32")
            bits = T.view(t, (1,), dtype="uint32")
            t[0] = 0
            for i in T.Parallel(64):
                t[0] = X[i]
                Y[i] = bits[0]

    _, after, _ = around_pass(kernel, PASS)
    assert "t_own" not in after_pass(kernel, PASS)
    x = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(interpreted(after, x, np.zeros(64, np.uint32))[1], x.view(np.uint32))


def test_what_is_no_scratch_stays():
    @T.prim_func
    def each_its_own(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            f, s = T.alloc_fragment((64,), "float32"), T.alloc_shared((64,), "float32")
            for i in T.Parallel(64):
                f[i] = X[i]
                s[i] = f[i]
            T.copy(s, Y)

    @T.prim_func
    def inside(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                t = T.alloc_local((1,), "float32")
                t[0] = X[i]
                Y[i] = t[0]

    @T.prim_func
    def only_read(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            t = T.alloc_local((1,), "float32")
            t[0] = 3
            for i in T.Parallel(64):
                Y[i] = X[i] + t[0]

    @T.prim_func
    def serial(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            t = T.alloc_local((1,), "float32")
            t[0] = 0
            for i in T.serial(64):
                t[0] = t[0] + X[i]
                Y[i] = t[0]

    for kernel in (each_its_own, inside, only_read, serial):
        assert unchanged(kernel), kernel


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.booleans(), st.booleans(), st.sampled_from(["int8", "int32", "float32"]))
def test_every_iteration_starts_from_what_the_memory_held_before_the_loop(size, reads_first, in_a_loop, dtype):
    """Judged by numpy, on any mix of reads first, reads behind the loop, and a loop around."""
    steps = 2 if in_a_loop else 1

    @T.prim_func
    def kernel(X: T.Tensor((9,), dtype), Y: T.Tensor((steps, 9), dtype)):
        with T.Kernel(1, threads=32):
            t = T.alloc_local((size,), dtype)
            for k in T.serial(steps):
                for e in T.serial(size):
                    t[e] = k + 3
                for i in T.Parallel(9):
                    if not reads_first:
                        t[size - 1] = 1
                    t[size - 1] = t[size - 1] + X[i]
                    Y[k, i] = t[size - 1]

    _, after, _ = around_pass(kernel, PASS)
    x = np.arange(9).astype(dtype)
    start = np.arange(steps)[:, None] + 3 if reads_first else np.ones((steps, 1))
    np.testing.assert_array_equal(interpreted(after, x, np.zeros((steps, 9), dtype))[1], (start + x).astype(dtype))
