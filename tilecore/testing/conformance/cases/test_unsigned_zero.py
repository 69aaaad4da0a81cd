"""float8_e4m3fnuz and float8_e5m2fnuz: no infinity, and no -0, whose bits are the only NaN.

The expected numbers come from ml_dtypes, and roundings from a search for the nearest of its values.
"""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, element, every_value, has_feature, same, sample, zeros

TYPES = ("float8_e4m3fnuz", "float8_e5m2fnuz")
SOURCES = ("float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
types = pytest.mark.parametrize("dtype", TYPES)


def bits(array):
    return array.view(np.uint8)


def sizes(dtype):
    """The values that are not negative, by their bits, as float64."""
    return np.arange(128, dtype=np.uint8).view(element(dtype)).astype(np.float64)


def nearest(numbers, dtype):
    """The bits, by search: of two nearest values those whose last bit is 0; beyond the largest value it."""
    table = sizes(dtype)
    with np.errstate(invalid="ignore"):  # signalling NaN
        wide = numbers.astype(np.float64)
    size = np.minimum(np.abs(np.where(np.isnan(wide), 0, wide)), table[-1])
    above = np.searchsorted(table, size).clip(1, 127)
    low, high = size - table[above - 1], table[above] - size
    chosen = np.where(low == high, above - above % 2, np.where(low < high, above - 1, above))
    signed = chosen + 128 * (np.signbit(wide) & (chosen != 0))
    return np.where(np.isnan(wide), 128, signed).astype(np.uint8)


def floats_around(dtype, source):
    """Every value, the middles between neighbours and what lies next to them, beyond the largest, and any bits."""
    table = sizes(dtype)
    exact = np.concatenate([table, (table[1:] + table[:-1]) / 2, table[-1] * np.array([1.01, 1.1, 2, 1e4])])
    kind = element(source)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = exact.astype(kind)
        near = [np.nextafter(exact, kind.type(edge)) for edge in (0, np.finfo(np.float32).max)]
        whole = np.concatenate([exact, *near])
        whole = np.concatenate([whole, -whole, every_value(source)[:: 7 if kind.itemsize == 2 else 1]])
    return whole


@types
@pytest.mark.parametrize("source", SOURCES)
def test_from_floats(target, dtype, source):
    x = floats_around(dtype, source)
    if has_feature(target, "flushes_subnormals"):
        x = np.where(np.abs(x.astype(np.float64)) < 2.0**-126, np.copysign(x.dtype.type(0), x), x)
    n = len(x)

    @T.prim_func
    def kernel(X: T.Tensor((n,), source), Y: T.Tensor((n,), dtype), Z: T.Tensor((n,), "uint8")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[i] = T.cast(X[i], dtype)
            for i in T.serial(n):
                Z[i] = T.reinterpret(T.cast(X[i], dtype), "uint8")

    _, y, z = check(kernel, target, x, zeros(dtype, n), zeros("uint8", n))
    expected = nearest(x, dtype)
    same(bits(y), expected)
    same(z, expected)


@types
@pytest.mark.parametrize("to", ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "bool"])
def test_to_other_types_and_back(target, dtype, to):
    x = every_value(dtype)

    @T.prim_func
    def kernel(X: T.Tensor((256,), dtype), Y: T.Tensor((256,), to), Z: T.Tensor((256,), dtype)):
        with T.Kernel(1):
            T.copy(X, Y)
            T.copy(Y, Z)

    _, y, z = check(kernel, target, x, zeros(to, 256), zeros(dtype, 256))
    if to.startswith(("float", "bf")):
        same(y.astype(np.float64), x.astype(np.float64))
        assert not (np.signbit(y) & (y == 0)).any()
        same(bits(z), bits(x))


@types
def test_operators(target, dtype):
    """Each rounds once to the type; no result is -0."""
    a = np.repeat(every_value(dtype), 32)
    b = np.tile(every_value(dtype)[5::8], 256)
    n = len(a)

    @T.prim_func
    def kernel(
        A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), Y: T.Tensor((8, n), dtype), C: T.Tensor((3, n), "bool")
    ):
        with T.Kernel(n // 128, threads=64) as block:
            for j in T.Parallel(128):
                i = block * 128 + j
                Y[0, i] = A[i] + B[i]
                Y[1, i] = A[i] - B[i]
                Y[2, i] = A[i] * B[i]
                Y[3, i] = A[i] / B[i]
                Y[4, i] = -A[i]
                Y[5, i] = T.abs(A[i])
                Y[6, i] = T.max(A[i], B[i])
                Y[7, i] = T.min(A[i], B[i])
                C[0, i] = A[i] < B[i]
                C[1, i] = A[i] == B[i]
                C[2, i] = T.isnan(A[i])

    *_, y, c = check(kernel, target, a, b, zeros(dtype, (8, n)), zeros("bool", (3, n)))
    p, q = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        results = [p + q, p - q, p * q, p / q, -p, np.abs(p), np.fmax(p, q), np.fmin(p, q)]
    for row, expected in zip(y, results, strict=True):
        same(bits(row), nearest(expected, dtype))
    same(c, np.array([p < q, p == q, np.isnan(p)]))


@types
def test_the_next_value(target, dtype):
    x = every_value(dtype)
    order = np.concatenate([np.arange(255, 128, -1), np.arange(128)])  # all numbers, by their bits, from the lowest up

    @T.prim_func
    def kernel(X: T.Tensor((256,), dtype), Up: T.Tensor((256,), dtype), Down: T.Tensor((256,), dtype)):
        with T.Kernel(1):
            for i in T.Parallel(256):
                Up[i] = T.nextafter(X[i], T.max_value(dtype))
                Down[i] = T.nextafter(X[i], T.min_value(dtype))

    _, up, down = check(kernel, target, x, zeros(dtype, 256), zeros(dtype, 256))
    same(bits(up)[order[:-1]], order[1:].astype(np.uint8))
    same(bits(down)[order[1:]], order[:-1].astype(np.uint8))
    assert bits(up)[128] == bits(down)[128] == 128
    assert (bits(up)[127], bits(down)[255]) == (127, 255)


@types
def test_negative_constants(target, dtype):
    """TVM refuses constants below 0 of these types."""
    n = 64

    @T.prim_func
    def kernel(X: T.Tensor((n,), dtype), Y: T.Tensor((10, n), dtype)):
        with T.Kernel(1):
            tile = T.alloc_fragment((n,), dtype)
            T.fill(tile, -2.5)
            for i in T.Parallel(n):
                Y[0, i] = tile[i]
                Y[1, i] = T.cast(T.float64(-1e9), dtype)
                Y[2, i] = T.min_value(dtype)
                Y[3, i] = T.clamp(X[i], -1, 1)
                Y[4, i] = X[i] * T.cast(-3, dtype)
                Y[5, i] = X[i] / 0.0
                Y[6, i] = T.cast(-0.0, dtype)
                Y[7, i] = T.cast(-1e-30, dtype)
                Y[8, i] = T.if_then_else(X[i] > -0.5, X[i] + T.cast(-1, dtype), T.cast(float("nan"), dtype))
            for k in T.serial(1):
                for i in T.Parallel(n):
                    Y[9, i] = T.cast(k - 5, dtype) + T.cast(T.cast(k - 5, "float32"), dtype)

    x = sample(dtype, n)
    _, y = check(kernel, target, x, zeros(dtype, (10, n)))
    wide, largest = x.astype(np.float64), sizes(dtype)[-1]
    with np.errstate(all="ignore"):
        quotient = wide / 0.0
    step = np.where(wide > -0.5, wide - 1, np.nan)
    rows = [-2.5, -largest, -largest, np.clip(wide, -1, 1), wide * -3, quotient, 0.0, 0.0, step, -10.0]
    for row, expected in zip(y, rows, strict=True):
        same(bits(row), nearest(np.broadcast_to(np.asarray(expected), n), dtype))


@types
def test_tiles(target, dtype):
    """Reductions, and a product with the other type; tails are zeros."""
    m, n, k = 40, 24, 48
    other = TYPES[TYPES[0] == dtype]

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), other), C: T.Tensor((m, n), "float32"),
        R: T.Tensor((3, m), dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(m, 32), threads=64) as block:
            a, b = T.alloc_shared((32, k), dtype), T.alloc_shared((k, n), other)
            c, rows = T.alloc_fragment((32, n), "float32"), T.alloc_fragment((32, k), dtype)
            most, least, largest = (T.alloc_fragment((32,), dtype) for _ in range(3))
            T.copy(A[block * 32, 0], a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c)
            T.copy(c, C[block * 32, 0])
            T.copy(A[block * 32, 0], rows)
            T.reduce_max(rows, most, dim=1)
            T.reduce_min(rows, least, dim=1)
            T.reduce_absmax(rows, largest, dim=1)
            T.copy(most, R[0, block * 32])
            T.copy(least, R[1, block * 32])
            T.copy(largest, R[2, block * 32])

    a, b = (np.round(sample(kind, shape, seed).astype(np.float32)).astype(element(kind))
            for kind, shape, seed in ((dtype, (m, k), 1), (other, (k, n), 2)))  # fmt: skip
    *_, c, r = check(kernel, target, a, b, zeros("float32", (m, n)), zeros(dtype, (3, m)))
    wide = a.astype(np.float32)
    same(c, wide @ b.astype(np.float32))
    same(r[:, :32].astype(np.float32), np.array([wide.max(1), wide.min(1), np.abs(wide).max(1)])[:, :32])
