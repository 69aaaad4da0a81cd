"""Tiles in shared memory that are read elsewhere than they were written, and overwritten while others may still read:
whatever the threads of a block are, each reads what the kernel's order of statements says."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import compiled, sample

M, N = 16, 12


def moved(x, shift):
    """What ``shift_of`` reads of an array."""
    return {
        "rows": lambda: np.roll(x, -1, 0),
        "far rows": lambda: np.roll(x, -(M - 1), 0),
        "columns": lambda: np.roll(x, -5, 1),
        "both": lambda: np.roll(x, (-2, -3), (0, 1)),
        "mirrored": lambda: x[::-1],
        "pairs": lambda: x[np.arange(M) ^ 8],
        "one row": lambda: np.broadcast_to(x[3], x.shape),
        "edge": lambda: x[np.minimum(np.arange(M) + 1, M - 1)],
    }[shift]()


SHIFTS = ("rows", "far rows", "columns", "both", "mirrored", "pairs", "one row", "edge")


def shift_of(shift):
    """For each element of a tile the one that is read: functions of the language's indices."""
    return {
        "rows": lambda i, j: ((i + 1) % M, j),
        "far rows": lambda i, j: ((i + M - 1) % M, j),
        "columns": lambda i, j: (i, (j + 5) % N),
        "both": lambda i, j: ((i + 2) % M, (j + 3) % N),
        "mirrored": lambda i, j: (M - 1 - i, j),
        "pairs": lambda i, j: (i ^ 8, j),
        "one row": lambda i, j: (3, j),
        "edge": lambda i, j: (T.min(i + 1, M - 1), j),
    }[shift]


@pytest.mark.parametrize("threads", [32, 64, 128])
@pytest.mark.parametrize("shift", SHIFTS)
def test_a_tile_read_elsewhere_and_then_overwritten(target, shift, threads):
    place = shift_of(shift)

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "int32"), Y: T.Tensor((M, N), "int32")):
        with T.Kernel(1, threads=threads):
            s, f = T.alloc_shared((M, N), "int32"), T.alloc_fragment((M, N), "int32")
            T.copy(X, s)
            for i, j in T.Parallel(M, N):
                row, column = place(i, j)
                f[i, j] = s[row, column]
            for i, j in T.Parallel(M, N):
                s[i, j] = f[i, j] * 3 + s[i, j]
            T.copy(s, Y)

    x, y = sample("int32", (M, N)), np.zeros((M, N), np.int32)
    compiled(kernel, target)(x, y)
    np.testing.assert_array_equal(y, moved(x, shift) * 3 + x)


@pytest.mark.parametrize("threads", [32, 128])
@pytest.mark.parametrize(("size", "shift"), [(64, 1), (64, 63), (48, 7)])
def test_a_row_that_turns(target, size, shift, threads):
    @T.prim_func
    def kernel(X: T.Tensor((size,), "float32"), Y: T.Tensor((size,), "float32")):
        with T.Kernel(1, threads=threads):
            s = T.alloc_shared((size,), "float32")
            T.copy(X, s)
            for i in T.Parallel(size):
                Y[i] = s[(i + shift) % size]

    x, y = sample("float32", size), np.zeros(size, np.float32)
    compiled(kernel, target)(x, y)
    np.testing.assert_array_equal(y, np.roll(x, -shift))


@pytest.mark.parametrize("first", [1, -1])
def test_a_condition_that_both_sides_overwrite(target, first):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), "int32"), Y: T.Tensor((M, N), "int32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((M, N), "int32")
            T.copy(X, s)
            if s[3, 5] > 0:
                for i, j in T.Parallel(M, N):
                    s[i, j] = s[i, j] * 2
            else:
                T.fill(s, 7)
            if s[3, 5] > 0:
                for i, j in T.Parallel(M, N):
                    s[i, j] = s[i, j] - 1
            T.copy(s, Y)

    x, y = sample("int32", (M, N)) % 9 + 1, np.zeros((M, N), np.int32)
    x[3, 5] = first
    compiled(kernel, target)(x, y)
    expected = x * 2 if first > 0 else np.full_like(x, 7)
    np.testing.assert_array_equal(y, expected - 1)


def test_a_while_whose_condition_is_overwritten(target):
    """By the last statement of its body, and in the middle of it before a continue."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "int32"), Y: T.Tensor((M, N), "int32"), C: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=128):
            s, n = T.alloc_shared((M, N), "int32"), T.alloc_var("int32", init=0)
            T.copy(X, s)
            while s[M - 1, N - 1] < 20:
                n += 1
                for i, j in T.Parallel(M, N):
                    s[i, j] = s[i, j] + 3
                if n == 2:
                    continue
                for i, j in T.Parallel(M, N):
                    s[i, j] = s[i, j] + 1
            T.copy(s, Y)
            C[0] = n

    x, y, c = sample("int32", (M, N)) % 5, np.zeros((M, N), np.int32), np.zeros(1, np.int32)
    x[M - 1, N - 1] = 0
    expected, steps = x.copy(), 0
    while expected[M - 1, N - 1] < 20:
        steps += 1
        expected += 3 if steps == 2 else 4
    compiled(kernel, target)(x, y, c)
    np.testing.assert_array_equal(y, expected)
    assert c[0] == steps


def test_a_bound_that_the_loop_overwrites(target):
    """It is read once, before the first step."""

    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=64):
            s, t = T.alloc_shared((N,), "int32"), T.alloc_shared((N,), "int32")
            T.copy(X, s)
            for k in T.serial(s[2]):
                for i in T.Parallel(N):
                    t[i] = s[(i + 1) % N] + k
                for i in T.Parallel(N):
                    s[i] = t[N - 1 - i]
            T.copy(s, Y)

    x, y = sample("int32", N), np.zeros(N, np.int32)
    x[2] = 4
    expected = x.copy()
    for k in range(4):
        expected = (np.roll(expected, -1) + k)[::-1]
    compiled(kernel, target)(x, y)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("kind", ["if", "while"])
def test_a_condition_on_a_reduction_that_the_body_does_again(target, kind):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), "int32"), Y: T.Tensor((M,), "int32"), C: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=64):
            f, r = T.alloc_fragment((M, N), "int32"), T.alloc_fragment((M,), "int32")
            n = T.alloc_var("int32", init=0)
            T.copy(X, f)
            T.reduce_sum(f, r, dim=1)
            if kind == "if":
                if r[M - 1] > -10000:
                    T.reduce_max(f, r, dim=1)
                    n += 1
            else:
                while r[M - 1] > 0:
                    n += 1
                    for i, j in T.Parallel(M, N):
                        f[i, j] = f[i, j] - 4
                    T.reduce_sum(f, r, dim=1)
            T.copy(r, Y)
            C[0] = n

    x, y, c = sample("int32", (M, N)) % 9, np.zeros(M, np.int32), np.zeros(1, np.int32)
    x[M - 1] = 5
    compiled(kernel, target)(x, y, c)
    expected = x.max(1) if kind == "if" else x.sum(1) - 8 * N
    np.testing.assert_array_equal(y, expected)
    assert c[0] == (1 if kind == "if" else 2)


@pytest.mark.parametrize("slots", [3, 4])
def test_a_ring_whose_slots_are_read_steps_later(target, slots):
    """No two neighbouring steps meet in a slot, steps further apart do."""
    steps = 9

    @T.prim_func
    def kernel(X: T.Tensor((steps, 32), "int32"), Y: T.Tensor((steps, 32), "int32")):
        with T.Kernel(1, threads=64):
            ring = T.alloc_shared((slots, 32), "int32")
            T.fill(ring, 0)
            for k in T.serial(steps):
                for i in T.Parallel(32):
                    ring[k % slots, i] = X[k, i]
                for i in T.Parallel(32):
                    Y[k, i] = ring[(k + 1) % slots, 31 - i]

    x, y = sample("int32", (steps, 32)), np.zeros((steps, 32), np.int32)
    expected = np.zeros_like(x)
    expected[slots - 1 :] = x[: steps - slots + 1, ::-1]
    compiled(kernel, target)(x, y)
    np.testing.assert_array_equal(y, expected)
