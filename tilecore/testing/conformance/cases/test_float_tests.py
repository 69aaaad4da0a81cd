"""T.isnan, T.isinf and T.isfinite for every value of every narrow float, and for the corners of the wide ones."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.interpreter import interpret

from .kit import FLOATS, check, close, compiled, element, every_value, has_feature, needs_type, same, wide, zeros

TESTS = (np.isnan, np.isinf, np.isfinite)


def kernel_of(dtype, n, form):
    if form == "vectors":

        @T.prim_func
        def kernel(X: T.Tensor((n,), dtype), B: T.Tensor((3, n), "bool")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    B[0, i] = T.isnan(X[i])
                    B[1, i] = T.isinf(X[i])
                    B[2, i] = T.isfinite(X[i])

    else:

        @T.prim_func
        def kernel(X: T.Tensor((n,), dtype), B: T.Tensor((3, n), "bool")):
            with T.Kernel(1):
                for i in T.serial(n):
                    x = X[i]
                    if T.isnan(x):
                        B[0, i] = True
                    B[1, i] = T.if_then_else(T.isinf(x), True, False)
                    B[2, i] = T.isfinite(x) and i >= 0

    return kernel


def expected(x):
    return np.stack([test(wide(x)) for test in TESTS])


@pytest.mark.parametrize("form", ["vectors", "branches"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_on_the_target(target, dtype, form):
    x = every_value(dtype)
    flags = zeros("bool", (3, len(x)))
    compiled(kernel_of(dtype, len(x), form), target)(x, flags)
    np.testing.assert_array_equal(flags, expected(x))


@pytest.mark.parametrize("form", ["vectors", "branches"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_in_the_interpreter(dtype, form):
    x = every_value(dtype)
    if form == "branches":  # in sequence, which is slow: what differs in the high bits
        x = x[:: max(1, len(x) // 1024)].copy()
    flags = zeros("bool", (3, len(x)))
    interpret(kernel_of(dtype, len(x), form), x, flags)
    np.testing.assert_array_equal(flags, expected(x))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_what_holds_of_integers_alone(target, dtype):
    """x - x, x / x, x == x, x * 0, x + 0: NaN, infinities and -0.0 are not lost. Zero is an argument, so that it is
    folded nowhere."""
    n = 64

    @T.prim_func
    def kernel(X: T.Tensor((n,), dtype), zero: T.dtype(dtype), Y: T.Tensor((6, n), dtype), B: T.Tensor((2, n), "bool")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                Y[0, i] = X[i] - X[i]
                Y[1, i] = X[i] / X[i]
                Y[2, i] = X[i] * zero
                Y[3, i] = X[i] + zero
                Y[4, i] = zero - X[i]
                Y[5, i] = -X[i]
                B[0, i] = X[i] == X[i]
                B[1, i] = X[i] != X[i]

    x = np.resize([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.25], n).astype(element(dtype))
    run = compiled(kernel, target)
    values, equalities = zeros(dtype, (6, n)), zeros("bool", (2, n))
    run(x, 0.0, values, equalities)
    with np.errstate(all="ignore"):
        zero = np.zeros(1, x.dtype)
        expected = np.stack([x - x, x / x, x * zero, x + zero, zero - x, -x])
    if has_feature(target, "approximate_math"):
        close(values[1], expected[1])
        values[1] = np.where(np.isfinite(wide(expected[1])), expected[1], values[1])
    np.testing.assert_array_equal(wide(values), wide(expected))
    signs = ~np.isnan(wide(expected))
    np.testing.assert_array_equal(np.signbit(wide(values))[signs], np.signbit(wide(expected))[signs], "of zeros too")
    np.testing.assert_array_equal(equalities, np.stack([x == x, x != x]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_halves_are_rounded_away_from_zero(target, dtype):
    n = 64

    @T.prim_func
    def kernel(X: T.Tensor((n,), dtype), Y: T.Tensor((2, n), dtype)):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[0, i] = T.round(X[i], rounding_mode="ties-away-from-zero")
                Y[1, i] = T.round(X[i])

    needs_type(target, dtype)
    corners = [0.0, 0.25, 0.5, 0.75, 1.5, 2.5, 3.5, 0.49999997, 100.5, 127.5, 2047.5, 8388607.5, 1e30, np.inf, np.nan]
    x = np.resize([*corners, *(-number for number in corners)], n).astype(element(dtype))
    y = check(kernel, target, x, zeros(dtype, (2, n)))[1]
    with np.errstate(invalid="ignore"):
        size = np.abs(wide(x))
        away = np.copysign(np.floor(size) + (size - np.floor(size) >= 0.5), wide(x))
    away = np.where(np.isfinite(wide(x)), away, wide(x))
    same(y, np.stack([away, np.rint(wide(x))]).astype(element(dtype)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_infinity(target, dtype):
    @T.prim_func
    def kernel(Y: T.Tensor((2, 16), dtype)):
        with T.Kernel(1):
            T.fill(Y[0, :], T.infinity(dtype))
            for i in T.Parallel(16):
                Y[1, i] = T.infinity(dtype)

    needs_type(target, dtype)
    y = check(kernel, target, zeros(dtype, (2, 16)))[0]
    assert np.isposinf(wide(y)).all()


@pytest.mark.parametrize("dtype", ["float8_e5m2", "float8_e4m3fn", "float16", "bfloat16", "float32"])
def test_a_value_that_many_iterations_copy_keeps_its_bits(target, dtype):
    @T.prim_func
    def kernel(X: T.Tensor((8,), dtype), Y: T.Tensor((8, 64), dtype)):
        with T.Kernel(8) as b:
            for i in T.Parallel(64):
                Y[b, i] = X[b]

    needs_type(target, dtype)
    numbers = [np.inf, -np.inf, np.nan, 1.5, -0.0, 0.0, 448.0, 2.0**-9]
    with np.errstate(invalid="ignore", over="ignore"):
        x = np.array(numbers, np.float32).astype(element(dtype))
    y = check(kernel, target, x, zeros(dtype, (8, 64)))[1]
    same(y, np.repeat(x[:, None], 64, axis=1))


@pytest.mark.parametrize("dtype", ["float8_e5m2", "float16"])
def test_an_infinity_that_is_stored_stays_one(target, dtype):
    """A constant is in its type already, so that nothing saturates it; a number that is cast to the type is."""

    @T.prim_func
    def kernel(X: T.Tensor((4,), "float32"), Y: T.Tensor((4, 64), dtype), Z: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            tile = T.alloc_fragment((64,), dtype)
            T.fill(tile, T.infinity(dtype))
            T.copy(tile, Y[0, :])
            for i in T.Parallel(64):
                Y[1, i] = -T.infinity(dtype)
                Y[2, i] = T.if_then_else(i % 2 == 0, T.infinity(dtype), T.cast(1, dtype))
                Y[3, i] = T.cast(X[i % 4], dtype)
                Z[i] = T.cast(T.infinity(dtype), "float32")

    needs_type(target, dtype)
    x = np.array([np.inf, -np.inf, 2.0, 0.5], np.float32)
    y, z = check(kernel, target, x, zeros(dtype, (4, 64)), zeros("float32", 64))[1:]
    y, largest = y.astype(np.float32), np.inf if dtype == "float16" else 57344
    same(y[0], np.full(64, np.inf, np.float32))
    same(y[1], np.full(64, -np.inf, np.float32))
    same(y[2], np.tile(np.array([np.inf, 1], np.float32), 32))
    same(y[3], np.tile(np.clip(x, -largest, largest), 16))
    same(z, np.full(64, np.inf, np.float32))
