"""Forms of Python that a kernel may be written in: tuples of one name, functions inside, `with` for loops, numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, close, same, sample, zeros


def test_one_name_in_parentheses(target):
    """``as (bx,)`` and ``for (i,) in``, as Python unpacks a tuple of one; ``*rest`` takes what is left."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((4, 32), "float32"), Z: T.Tensor((2, 3, 2), "int32")):
        with T.Kernel(4, threads=32) as (bx,):
            for (i,) in T.Parallel(32):
                Y[bx, i] = X[bx, i] + bx
        with T.Kernel(2, 3, 2, threads=32) as (bx, *rest):
            by, bz = rest
            for i in T.Parallel(1):
                Z[bx, by, bz + i] = bx + 10 * by + 100 * bz

    x = sample("float32", (4, 32))
    got = check(kernel, target, x, zeros("float32", (4, 32)), zeros("int32", (2, 3, 2)))
    np.testing.assert_array_equal(got[1], x + np.arange(4, dtype=np.float32)[:, None])
    a, b, c = np.indices((2, 3, 2))
    np.testing.assert_array_equal(got[2], a + 10 * b + 100 * c)


def test_loops_by_with(target):
    """``with T.Parallel(n) as i:`` is ``for i in T.Parallel(n):``, for every loop of the kernel."""

    @T.prim_func
    def kernel(X: T.Tensor((2, 128), "float32"), Y: T.Tensor((2, 128), "float32"), S: T.Tensor((2,), "float32")):
        with T.Kernel(2, threads=64) as bx:
            f, s = T.alloc_fragment((128,), "float32"), T.alloc_fragment((1,), "float32")
            with T.Parallel(128) as ty:
                f[ty] = X[bx, ty] * 2
            with T.Parallel(2, 64) as (i, j):
                Y[bx, i * 64 + j] = f[i * 64 + j] + 1
            T.clear(s)
            with T.serial(3):
                with T.Parallel(1) as (k,):
                    s[k] += bx + 1
            T.copy(s, S[bx : bx + 1])

    x = sample("float32", (2, 128))
    got = check(kernel, target, x, zeros("float32", (2, 128)), zeros("float32", (2,)))
    np.testing.assert_array_equal(got[1], x * 2 + 1)
    np.testing.assert_array_equal(got[2], [3, 6])


def test_functions_inside(target):
    """A function defined in the kernel may return values, wherever it is called."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((4, 32), "float32")):
        with T.Kernel(4, threads=32) as b:

            def scaled(value, by=2.0):
                if by == 1.0:
                    return value
                return value * by

            for i in T.Parallel(32):
                if i % 2 == 0:
                    Y[b, i] = scaled(X[b, i]) + scaled(X[b, i], 1.0)
                else:
                    Y[b, i] = scaled(X[b, i], by=0.5)

    x = sample("float32", (4, 32))
    got = check(kernel, target, x, zeros("float32", (4, 32)), compare=close)
    np.testing.assert_allclose(got[1], np.where(np.arange(32) % 2 == 0, x * 3, x * 0.5), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_where(target, dtype):
    """Only the side that is chosen is evaluated: the other one may be outside."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), dtype), Y: T.Tensor((64,), dtype)):
        with T.Kernel(1, threads=64):
            x = T.alloc_shared((64,), dtype)
            T.copy(X, x)
            for i in T.Parallel(64):
                Y[i] = T.where(i > 0, x[T.max(i - 1, 0)], -1) + T.where(True, 1, 2)

    x = sample(dtype, (64,))
    got = check(kernel, target, x, zeros(dtype, (64,)))
    np.testing.assert_array_equal(got[1], np.concatenate(([-1], x[:-1])).astype(dtype) + np.ones(64, dtype))


def test_divmod(target):
    """Quotient and remainder as Python's, of negative numbers too."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Q: T.Tensor((4, 64), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                q, r = divmod(X[i], 7)
                Q[0, i] = q
                Q[1, i] = r
                q, r = divmod(100, T.max(X[i], 1))
                Q[2, i] = q
                Q[3, i] = r

    x = np.arange(-32, 32, dtype=np.int32)
    got = check(kernel, target, x, zeros("int32", (4, 64)))
    expected = [*np.divmod(x, 7), *np.divmod(100, np.maximum(x, 1))]
    np.testing.assert_array_equal(got[1], expected)


def test_the_largest_number_by_its_digits(target):
    """3.4028235e38 is how the largest float32 is printed: it rounds to it."""
    largest = np.finfo(np.float32).max

    @T.prim_func
    def kernel(X: T.Tensor((32,), "float32"), Y: T.Tensor((2, 32), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                Y[0, i] = T.min(X[i] * 1e20, 3.4028235e38)
                Y[1, i] = -3.4028235e38

    x = np.full(32, 1e20, np.float32)
    got = check(kernel, target, x, zeros("float32", (2, 32)), compare=same)
    np.testing.assert_array_equal(got[1], np.float32([[largest] * 32, [-largest] * 32]))


def test_indexes_that_are_negative_in_every_iteration(target):
    """They count from the end, in T.Parallel too; what lies outside of a tensor in some iterations only reads as 0."""

    @T.prim_func
    def kernel(X: T.Tensor((32,), "float32"), Y: T.Tensor((5, 8), "float32")):
        with T.Kernel(1, threads=1):
            s = T.alloc_shared((32,), "float32")
            T.copy(X, s)
            for t in T.serial(8):
                Y[0, t] = X[t - 8] + s[-1 - t]
            for t in T.serial(2):
                Y[1, T.Ramp(t * 4, 1, 4)] = X[T.Ramp(t * 4 - 8, 1, 4)]
            for i in T.Parallel(8):
                Y[2, i] = s[i - 8]
                Y[3, i] = X[i - 8]
                Y[4, i] = X[i - 4]

    x = sample("float32", (32,))
    got = check(kernel, target, x, zeros("float32", (5, 8)))
    expected = [x[-8:] + x[:-9:-1], x[-8:], x[-8:], x[-8:], np.r_[np.zeros(4, np.float32), x[:4]]]
    np.testing.assert_array_equal(got[1], np.stack(expected))


def test_vectors_that_begin_before_an_axis(target):
    """Of a vector (T.Ramp) each lane that is negative counts from the end, also where only the call knows its sign."""

    @T.prim_func
    def kernel(
        X: T.Tensor((32,), "float32"), Y: T.Tensor((5, 4), "float32"), Z: T.Tensor((16,), "float32"), shift: T.int32
    ):
        with T.Kernel(1, threads=1):
            for t in T.serial(4):
                Y[t, T.Ramp(0, 1, 4)] = X[T.Ramp(t - 2, 1, 4)]
            Y[-1, T.Ramp(0, 1, 4)] = X[T.Ramp(1, -1, 4)]
            Z[T.Ramp(shift, 2, 8)] = X[T.Ramp(0, 1, 8)]

    x, y, z = sample("float32", (32,)), zeros("float32", (5, 4)), zeros("float32", (16,))
    got = check(kernel, target, x, y, z, -6)
    expected = [*(x[np.arange(t - 2, t + 2)] for t in range(4)), x[[1, 0, -1, -2]]]
    np.testing.assert_array_equal(got[1], np.stack(expected))
    written = np.zeros(16, np.float32)
    written[np.arange(-6, 10, 2)] = x[:8]
    np.testing.assert_array_equal(got[2], written)


def test_negative_indexes(target):
    """Constants count from the end, as Python's: elements, ends of slices, regions of operations."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((6, 32), "float32"), Z: T.Tensor((2, 8), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((4, 32), "float32")
            T.copy(X, s)
            T.copy(s[-1, :], Y[-1, :])
            T.copy(X[-2, 0:32], Y[0, :])
            T.copy(s[-3:-1, -8:], Z)
            T.copy(s[:-2, :], Y[1:3, :])
            for i in T.Parallel(32):
                Y[3, i] = s[-1, i] + X[-4, i]
                Y[-2, i] = X[1, -1] + s[0, -32]

    x = sample("float32", (4, 32))
    _, y, z = check(kernel, target, x, zeros("float32", (6, 32)), zeros("float32", (2, 8)))
    expected = [x[-2], *x[:-2], x[-1] + x[-4], np.full(32, x[1, -1] + x[0, -32]), x[-1]]
    np.testing.assert_array_equal(y, np.stack(expected))
    np.testing.assert_array_equal(z, x[-3:-1, -8:])


def test_vectors_are_read_where_they_stand(target):
    """The right side of an assignment is evaluated whole before anything is stored, vectors (T.Ramp) too."""

    @T.prim_func
    def kernel(X: T.Tensor((32,), "int32"), Y: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=1):
            X[T.Ramp(0, 1, 4)], X[T.Ramp(4, 1, 4)] = X[T.Ramp(4, 1, 4)], X[T.Ramp(0, 1, 4)]
            vectors = [X[T.Ramp(8, 1, 8)], X[T.Ramp(15, -1, 8)]]
            X[T.Ramp(8, 1, 8)] = 7
            Y[T.Ramp(0, 1, 8)] = vectors[1]
            Y[T.Ramp(8, 1, 8)] = vectors[0] + vectors[1] + X[T.Ramp(8, 1, 8)]

    x = np.arange(32, dtype=np.int32)
    expected = np.r_[4:8, 0:4, [7] * 8, 16:32], np.r_[15:7:-1, [30] * 8, [0] * 16]
    got = check(kernel, target, x, zeros("int32", 32))
    for mine, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_while_true_that_the_kernel_leaves(target):
    @T.prim_func
    def kernel(X: T.Tensor((8, 16), "int32"), Y: T.Tensor((8, 2), "int32")):
        with T.Kernel(8, threads=32) as bx:
            i, total = T.alloc_var("int32", init=0), T.alloc_var("int32", init=0)
            while True:
                if X[bx, i] == 0:
                    break
                i += 1
                if X[bx, i - 1] % 2 == 1:
                    continue
                total += X[bx, i - 1]
            Y[bx, 0] = i
            Y[bx, 1] = total

    x = np.random.default_rng(3).integers(1, 9, (8, 16)).astype(np.int32)
    ends = np.arange(8) * 2
    x[np.arange(8), ends] = 0
    _, y = check(kernel, target, x, zeros("int32", (8, 2)))
    np.testing.assert_array_equal(y[:, 0], ends)
    sums = [sum(v for v in row[:end] if v % 2 == 0) for row, end in zip(x, ends, strict=True)]
    np.testing.assert_array_equal(y[:, 1], sums)


def test_operands_of_and_and_or(target):
    """``a and b`` and ``a or b`` are one of the two, as in Python; in a condition they are a condition."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32"), Z: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                Y[i] = X[i] % 3 or X[i] // 2
                Z[i] = X[i] % 2 and (X[i] > 10 and X[i] + 1)
                if X[i] % 5 and not (X[i] % 7 or X[i] % 2):
                    Z[i] = -1

    x = np.arange(64, dtype=np.int32)
    got = check(kernel, target, x, zeros("int32", 64), zeros("int32", 64))
    np.testing.assert_array_equal(got[1], [v % 3 or v // 2 for v in range(64)])
    np.testing.assert_array_equal(
        got[2], [-1 if v % 5 and not (v % 7 or v % 2) else int(v % 2 and (v > 10 and v + 1)) for v in range(64)]
    )
