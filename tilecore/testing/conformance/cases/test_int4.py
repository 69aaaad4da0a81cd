"""4-bit integers: packed in pairs in global memory, one by one on chip."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import ArgumentError, UnsupportedError

from .kit import check, compiled, rerun, same, zeros

KINDS = ["int4", "uint4"]


def packed(shape, seed=0, dtype=np.uint8):
    """Random bytes for a tensor of 4-bit elements of ``shape``."""
    return np.random.default_rng(seed).integers(0, 256, (*shape[:-1], shape[-1] // 2)).astype(np.uint8).view(dtype)


def values(array, kind):
    """The elements as int64."""
    raw = array.view(np.uint8).astype(np.int64)
    both = np.stack([raw & 15, raw >> 4], -1).reshape(*array.shape[:-1], -1)
    return (both ^ 8) - 8 if kind == "int4" else both


@pytest.mark.parametrize("kind", KINDS)
def test_copies_both_ways(target, kind):
    """Whole tiles, tiles that end outside, odd starts, single elements, copies between global tensors."""
    m, n = 9, 22

    @T.prim_func
    def kernel(
        X: T.Tensor((m, n), kind),
        Y: T.Tensor((m, n), "int32"),
        Z: T.Tensor((m, n), kind),
        O: T.Tensor((m, n), kind),  # noqa: E741
        D: T.Tensor((m, n), kind),
        E: T.Tensor((8,), kind),
    ):
        with T.Kernel(T.ceildiv(n, 8), T.ceildiv(m, 4)) as (bx, by):
            tile = T.alloc_shared((4, 8), kind)
            T.copy(X[by * 4, bx * 8], tile)
            for i, j in T.Parallel(4, 8):
                Y[by * 4 + i, bx * 8 + j] = tile[i, j]
            T.copy(tile, Z[by * 4, bx * 8])
        with T.Kernel(1):
            row = T.alloc_fragment((7,), kind)
            T.copy(X[2, 3:10], row)
            T.copy(row, O[4, 5:12])
            T.copy(X, D)
            E[0], E[3], E[5] = X[0, 1], X[1, 0], 7

    x = packed((m, n))
    args = [zeros("int32", (m, n)), packed((m, n), 1), packed((m, n), 2), packed((m, n), 3), packed((8,), 4)]
    _, y, z, o, d, e = check(kernel, target, x, *args)
    same(y, values(x, kind).astype(np.int32))
    same(z, x)
    same(d, x)
    expected = values(args[2], kind)
    expected[4, 5:12] = values(x, kind)[2, 3:10]
    same(values(o, kind), expected)
    assert values(e, kind)[5] == 7


@pytest.mark.parametrize("kind", KINDS)
def test_arithmetic_wraps_to_four_bits(target, kind):
    n = 256

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), kind), Y: T.Tensor((n,), kind), Z: T.Tensor((12, n), "int32"), F: T.Tensor((n,), "float32")
    ):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Z[0, i] = X[i] + Y[i]
                Z[1, i] = X[i] * Y[i]
                Z[2, i] = X[i] - Y[i]
                Z[3, i] = ~X[i]
                Z[4, i] = X[i] << T.cast(2, kind)
                Z[5, i] = X[i] >> T.cast(1, kind)
                Z[6, i] = T.max(X[i], Y[i])
                Z[7, i] = X[i] < Y[i]
                Z[8, i] = T.cast(T.cast(X[i], "int32") * 3, kind)
                Z[9, i] = T.cast(F[i], kind)
                Z[10, i] = T.if_then_else(Y[i] == 0, 0, T.cast(X[i], "int32") // Y[i])
                Z[11, i] = X[i] & Y[i]

    x = np.repeat(np.arange(16, dtype=np.uint8), 16)
    y = np.tile(np.arange(16, dtype=np.uint8), 16)
    both = [(v[0::2] | (v[1::2] << 4)).astype(np.uint8) for v in (x, y)]
    f = np.linspace(-20, 20, n).astype(np.float32)
    f[:3] = np.nan, np.inf, -np.inf
    *_, z, _ = check(kernel, target, *both, zeros("int32", (12, n)), f)
    assert z.min() >= -32
    if kind == "int4":
        same(z[9][:3], np.array([0, 7, -8], np.int32))


def test_stores_leave_their_neighbours_alone(target):
    """Conditions, odd elements only, strided and scattered stores, and blocks that meet in one byte."""
    n = 90

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), "int32"),
        P: T.Tensor((n,), "int32"),
        A: T.Tensor((n,), "int4"),
        B: T.Tensor((n,), "uint4"),
        C: T.Tensor((n,), "int4"),
        D: T.Tensor((n,), "int4"),
        E: T.Tensor((6, 2 * n), "uint4"),
    ):
        with T.Kernel(1):
            for i in T.Parallel(n):
                if X[i] > 0:
                    A[i] = X[i]
            for i in T.Parallel(n // 2):
                B[2 * i + 1] = X[i]
            for i in T.Parallel(n):
                C[P[i]] = X[i]
            for i in T.serial(3, 40, 3):
                D[i] = i
        with T.Kernel(2 * n) as b:
            for k in T.serial(6):
                E[k, b] = b + k

    rng = np.random.default_rng(0)
    args = [rng.integers(-9, 9, n).astype(np.int32), rng.permutation(n).astype(np.int32)]
    args += [packed((n,), s) for s in (1, 2, 3, 4)] + [packed((6, 2 * n), 5)]
    built = compiled(kernel, target)
    for _ in range(20):
        *_, e = rerun(built, kernel, *args)
        same(values(e, "uint4"), np.add.outer(np.arange(6), np.arange(2 * n)) % 16)


def test_gemm_of_packed_weights(target):
    """Copied and converted, and 4-bit operands as they are."""
    m, n, k = 16, 32, 48

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), "float32"),
        W: T.Tensor((n, k), "int4"),
        Q: T.Tensor((m, k), "int4"),
        C: T.Tensor((m, n), "float32"),
        S: T.Tensor((m, n), "int32"),
    ):
        with T.Kernel(2) as b:
            a, w, v = (
                T.alloc_shared((m, k), "float32"),
                T.alloc_shared((16, k), "float32"),
                T.alloc_shared((16, k), "int4"),
            )
            q = T.alloc_shared((m, k), "int4")
            c, s = T.alloc_fragment((m, 16), "float32"), T.alloc_fragment((m, 16), "int32")
            T.copy(A, a)
            T.copy(W[b * 16, 0], w)
            T.gemm(a, w, c, transpose_B=True, clear_accum=True)
            T.copy(c, C[0, b * 16])
            T.copy(Q, q)
            T.copy(W[b * 16 : b * 16 + 16, :], v)
            T.gemm(q, v, s, transpose_B=True, clear_accum=True)
            T.copy(s, S[:, b * 16 : b * 16 + 16])

    a = np.random.default_rng(0).integers(-4, 5, (m, k)).astype(np.float32)
    w, q = packed((n, k), 1), packed((m, k), 2, np.int8)
    *_, c, s = check(kernel, target, a, w, q, zeros("float32", (m, n)), zeros("int32", (m, n)))
    same(c, (a @ values(w, "int4").T).astype(np.float32))
    same(s, (values(q, "int4") @ values(w, "int4").T).astype(np.int32))


def test_sizes_of_the_call_strides_views_and_workspaces(target):
    n, s = T.dynamic("n s")

    @T.prim_func
    def kernel(
        X: T.StridedTensor((3, n), (s, 1), "uint4"),
        Y: T.Tensor((3, n), "int32"),
        R: T.Tensor((4, 12), "uint4"),
        V: T.Tensor((48,), "int32"),
        F: T.Tensor((48,), "uint4"),
    ):
        workspace = T.alloc_global((3, n), "uint4")
        with T.Kernel(3) as b:
            for j in T.Parallel(n):
                workspace[b, j] = X[b, j] + T.cast(1, "uint4")
        with T.Kernel(3) as b:
            for j in T.Parallel(n):
                Y[b, j] = workspace[b, j]
        with T.Kernel(1):
            line = T.reshape(R, (48,))
            rows = T.view(F, (4, 12), "uint4")
            for i in T.Parallel(48):
                V[i] = line[i]
            T.copy(R, rows)

    built = compiled(kernel, target)
    for size in (2, 8, 34):
        x = packed((3, size + 6), 1)[:, : size // 2]
        y, r, v, f = zeros("int32", (3, size)), packed((4, 12), 2), zeros("int32", 48), packed((48,), 3)
        built(x, y, r, v, f)
        same(y, ((values(x, "uint4") + 1) % 16).astype(np.int32))
        same(v, values(r, "uint4").astype(np.int32).reshape(-1))
        same(f, r.reshape(-1))


def test_outside_the_bounds(target):
    @T.prim_func
    def kernel(X: T.Tensor((5, 6), "int4"), Y: T.Tensor((8, 12), "int32"), Z: T.Tensor((5, 6), "int4")):
        with T.Kernel(1):
            T.annotate_safe_value({X: -3})
            tile = T.alloc_shared((8, 12), "int4")
            T.copy(X[0:8, 0:12], tile)
            T.copy(tile, Y)
            for i, j in T.Parallel(8, 12):
                Z[i - 1, j - 3] = tile[i, j]

    _, y, _ = check(kernel, target, packed((5, 6)), zeros("int32", (8, 12)), packed((5, 6), 1))
    assert (y[5:] == -3).all()


def test_calls(target):
    """What a caller may pass, outputs that the call allocates, and what is refused."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 6), "int4"), Y: T.Tensor((4, 6), "int4")):
        with T.Kernel(1):
            T.copy(X, Y)

    built = compiled(kernel, target, out_idx=1)
    x = packed((4, 6))
    for argument in (x, x.view(np.int8)):
        assert np.array_equal(np.asarray(built(argument)).view(np.uint8), x)
    with pytest.raises(ArgumentError, match="X"):
        built(np.zeros((4, 6), np.int8))
    with pytest.raises(ArgumentError, match="X"):
        built(np.zeros((4, 3), np.int16))


def test_what_is_refused(target):
    def odd():
        @T.prim_func
        def kernel(X: T.Tensor((4, 5), "int4"), Y: T.Tensor((4, 5), "int32")):
            with T.Kernel(1):
                T.copy(X, Y)

        return kernel

    def atomic():
        @T.prim_func
        def kernel(X: T.Tensor((4, 6), "int4")):
            with T.Kernel(1):
                T.atomic_add(X[0, 0], 1)

        return kernel

    def on_chip_view():
        @T.prim_func
        def kernel(X: T.Tensor((4, 6), "int4"), Y: T.Tensor((4, 3), "int8")):
            with T.Kernel(1):
                tile = T.alloc_shared((4, 6), "int4")
                T.copy(X, tile)
                T.copy(T.view(tile, (4, 3), "int8"), Y)

        return kernel

    for make, text in (
        (odd, "odd number of int4"),
        (atomic, "atomic operation works on int4"),
        (on_chip_view, "T.view changes the element type of tile"),
    ):
        with pytest.raises(UnsupportedError, match=text) as caught:
            compiled(make(), target)
        assert caught.value.hint or caught.value.expected


@pytest.mark.parametrize("fixed", [True, False])
def test_strides_count_elements(target, fixed):
    """Rows of 9 bytes, of which the tensor has 4: a stride of 18 elements, known when compiling or read at the call."""
    step = 18 if fixed else T.dynamic("step")

    @T.prim_func
    def kernel(A: T.StridedTensor((4, 8), (step, 1), "int4"), B: T.Tensor((4, 8), "int32"), S: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=32):
            S[0] = step
            for i, j in T.Parallel(4, 8):
                B[i, j] = A[i, j]

    rows = (np.arange(36, dtype=np.int8).reshape(4, 9) * 7)[:, :4]
    low, high = (((rows.astype(np.int32) >> bits & 15) ^ 8) - 8 for bits in (0, 4))
    _, b, s = check(kernel, target, rows, zeros("int32", (4, 8)), zeros("int32", 1))
    np.testing.assert_array_equal(b, np.stack([low, high], -1).reshape(4, 8))
    assert s[0] == 18
