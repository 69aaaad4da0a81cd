"""float4_e2m1fn: 16 values, two of them in a byte of global memory, rounded to nearest even and saturating."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import ArgumentError, LanguageError, UnsupportedError
from tilecore.interpreter import interpret

from .kit import check, close, compiled, every_value, same, sample, zeros

SIZES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
VALUES = np.array([*SIZES, *(-v for v in SIZES)], np.float32)  # by their bits


def packed(shape, seed=0):
    """Random bytes that hold elements of this shape."""
    *axes, last = shape
    return np.random.default_rng(seed).integers(0, 256, (*axes, last // 2)).astype(np.uint8)


def values(raw):
    """The elements in bytes."""
    return VALUES[np.stack([raw & 15, raw >> 4], axis=-1).reshape(*raw.shape[:-1], -1)]


def nearest(numbers):
    """By search: the nearest value, of two the one whose last bit is 0; NaN gives the largest."""
    with np.errstate(invalid="ignore"):  # signalling NaN
        wide = np.clip(numbers.astype(np.float64), -6, 6)
    wide = np.where(np.isnan(wide), 6.0, wide)
    distance = np.abs(np.abs(wide)[:, None] - np.array(SIZES)[None, :])
    best = np.array([min(range(8), key=lambda k: (row[k], k & 1)) for row in distance])
    return np.copysign(np.array(SIZES)[best], wide).astype(np.float32)


@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_from_floats(target, source):
    """Every value of 8-bit types, corners and random ones of others; ties; zeros keep their sign."""
    x = every_value(source)
    middles = np.concatenate([np.arange(-14, 14) / 4.0, [np.inf, -np.inf, np.nan, 5, -5, 7, -1e4, 0.0, -0.0]])
    x = np.concatenate([middles.astype(x.dtype), x[:: max(1, len(x) // 3000)]])
    x = x[: len(x) // 2 * 2]
    n = len(x)

    @T.prim_func
    def kernel(X: T.Tensor((n,), source), Y: T.Tensor((n,), "float4_e2m1fn"), Z: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            T.copy(X, Y)
            for i in T.Parallel(n):
                Z[i] = T.cast(X[i], "float4_e2m1fn")

    _, y, z = check(kernel, target, x, np.zeros(n // 2, np.uint8), zeros("float32", n))
    expected = nearest(x)
    same(values(y), expected)
    same(z, expected)
    assert (np.signbit(z) == np.signbit(expected)).all()


@pytest.mark.parametrize(
    "to", ["float32", "float64", "float16", "bfloat16", "float8_e5m2", "int8", "uint8", "int32", "bool"]
)
def test_to_other_types_and_back(target, to):
    raw = np.arange(256, dtype=np.uint8)

    @T.prim_func
    def kernel(X: T.Tensor((512,), "float4_e2m1fn"), Y: T.Tensor((512,), to), Z: T.Tensor((512,), "float4_e2m1fn")):
        with T.Kernel(1):
            T.copy(X, Y)
            T.copy(Y, Z)

    _, y, z = check(kernel, target, raw, zeros(to, 512), np.zeros(256, np.uint8))
    if to.startswith(("float", "bf")):
        same(y.astype(np.float32), values(raw))
        assert (z == raw).all()


def test_arithmetic(target):
    """In float4 itself each operation rounds; with wider types it is theirs."""
    a, b = (v.ravel().astype(np.uint8) for v in np.meshgrid(np.arange(16), np.arange(16)))
    n = 256

    @T.prim_func
    def kernel(
        A: T.Tensor((n,), "float4_e2m1fn"), B: T.Tensor((n,), "float4_e2m1fn"),
        Y: T.Tensor((6, n), "float32"), C: T.Tensor((3, n), "bool"),
    ):  # fmt: skip
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[0, i] = A[i] + B[i]
                Y[1, i] = A[i] * B[i]
                Y[2, i] = T.max(A[i], -B[i])
                Y[3, i] = A[i] * 0.3
                Y[4, i] = abs(A[i]) + T.cast(B[i], "float16")
                Y[5, i] = T.float4_e2m1fn(1.5) * A[i]
                C[0, i] = A[i] < B[i]
                C[1, i] = A[i] == B[i]
                C[2, i] = T.isnan(A[i])

    pack = lambda v: v[0::2] | (v[1::2] << 4)  # noqa: E731
    *_, y, c = check(kernel, target, pack(a), pack(b), zeros("float32", (6, n)), zeros("bool", (3, n)))
    x, z = VALUES[a], VALUES[b]
    same(y[0], nearest(x + z))
    same(y[1], nearest(x * z))
    same(y[2], np.maximum(x, -z))
    same(y[3], x * np.float32(0.3))
    same(y[4], np.abs(x) + z)
    same(y[5], nearest(x * 1.5))
    same(c[0], x < z)
    same(c[1], x == z)
    assert not c[2].any()


@pytest.mark.parametrize("m", [32, 45])
def test_product_of_packed_weights(target, m):
    """On chip, with scales, in tiles whose tails lie outside."""
    n, k = 48, 128

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), "float16"), B: T.Tensor((n, k), "float4_e2m1fn"),
        S: T.Tensor((n, k // 32), "float32"), C: T.Tensor((m, n), "float32"), D: T.Tensor((m, n), "float32"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(m, 32)) as b:
            a, w = T.alloc_shared((32, 32), "float16"), T.alloc_shared((n, 32), "float4_e2m1fn")
            scaled = T.alloc_shared((n, 32), "float16")
            c, d = T.alloc_fragment((32, n), "float32"), T.alloc_fragment((32, n), "float32")
            T.clear(c)
            T.clear(d)
            for s in T.Pipelined(k // 32, num_stages=2):
                T.copy(A[b * 32, s * 32], a)
                T.copy(B[0, s * 32], w)
                for i, j in T.Parallel(n, 32):
                    scaled[i, j] = w[i, j] * S[i, s]
                T.gemm(a, scaled, c, transpose_B=True)
                T.gemm(a, w, d, transpose_B=True)
            T.copy(c, C[b * 32, 0])
            T.copy(d, D[b * 32, 0])

    a, w, s = sample("float16", (m, k)), packed((n, k), 1), np.abs(sample("float32", (n, k // 32), 2))
    zero = zeros("float32", (m, n))
    *_, d = check(kernel, target, a, w, s, zero, zero, compare=lambda g, x, label: close(g, x, 64, label))
    close(d, (a.astype(np.float64) @ values(w).T.astype(np.float64)).astype(np.float32), 64)


def test_bits_shapes_workspaces_and_reductions(target):
    @T.prim_func
    def kernel(
        X: T.Tensor((6, 8), "float4_e2m1fn"), B: T.Tensor((6, 8), "uint4"), R: T.Tensor((8, 6), "float4_e2m1fn"),
        M: T.Tensor((6,), "float32"), U: T.Tensor((6, 8), "float4_e2m1fn"), V: T.Tensor((8, 10), "float32"),
    ):  # fmt: skip
        workspace = T.alloc_global((6, 8), "float4_e2m1fn")
        with T.Kernel(1):
            T.annotate_safe_value({X: 3})
            for i, j in T.Parallel(6, 8):
                B[i, j] = T.reinterpret(X[i, j], "uint4")
                workspace[i, j] = -X[i, j]
            T.copy(X, T.reshape(R, (6, 8)))
            tile, most = T.alloc_shared((8, 10), "float4_e2m1fn"), T.alloc_fragment((6,), "float32")
            T.reduce_max(X, most, dim=1)
            T.copy(most, M)
            T.copy(X[0:8, 0:10], tile)
            T.copy(tile, V)
        with T.Kernel(1):
            for i, j in T.Parallel(6, 8):
                U[i, j] = T.reinterpret(T.reinterpret(workspace[i, j], "int4"), "float4_e2m1fn")

    x = packed((6, 8))
    empty = (np.zeros((6, 4), np.uint8), np.zeros((8, 3), np.uint8), zeros("float32", 6), np.zeros((6, 4), np.uint8))
    _, b, r, most, u, v = check(kernel, target, x, *empty, zeros("float32", (8, 10)))
    assert (b == x).all()
    assert (r.reshape(6, 4) == x).all()
    same(most, values(x).max(1))
    same(values(u), -values(x))
    same(v[:6, :8], values(x))
    assert (v[6:] == 3).all()


def test_calls_and_what_is_refused(target):
    @T.prim_func
    def kernel(X: T.Tensor((4, 6), "float4_e2m1fn"), Y: T.Tensor((4, 6), "float4_e2m1fn")):
        with T.Kernel(1):
            T.copy(X, Y)

    built = compiled(kernel, target, out_idx=1)
    x = packed((4, 6))
    for argument in (x, x.view(np.int8)):
        assert np.array_equal(np.asarray(built(argument)).view(np.uint8), x)
    with pytest.raises(ArgumentError, match="X"):
        built(np.zeros((4, 6), np.uint8))

    unpacked = values(x).astype(ml_dtypes.float4_e2m1fn)
    got = np.zeros_like(unpacked)
    interpret(kernel.ir, unpacked, got)
    assert (got == unpacked).all()

    with pytest.raises(LanguageError, match="has no infinity"):
        T.infinity("float4_e2m1fn")
    with pytest.raises(UnsupportedError, match="changes the element type"):

        @T.prim_func
        def view(X: T.Tensor((4, 6), "float4_e2m1fn")):
            with T.Kernel(1):
                T.view(X, (4, 3), "uint8")

    @T.prim_func
    def atomic(X: T.Tensor((4, 6), "float4_e2m1fn")):
        with T.Kernel(1):
            T.atomic_add(X[0, 0], 1)

    with pytest.raises(UnsupportedError, match="atomic operation works on float4_e2m1fn"):
        compiled(atomic, target)
