"""Whole functions: grids, several kernels, workspaces, sizes and scalars of the call, hints."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import ArgumentError, UnsupportedError

from .kit import check, close, compiled, copies, element, has_warps, rerun, same, sample, zeros

SCALARS = {
    "int8": -100,
    "uint8": 200,
    "int16": -30000,
    "uint16": 60000,
    "int32": -(2**31),
    "uint32": 2**32 - 1,
    "int64": -(2**63),
    "uint64": 2**64 - 1,
    "float32": 0.1,
    "float64": 0.1,
    "float16": 0.1,
    "bfloat16": 0.1,
    "float8_e4m3fn": 0.1,
    "float8_e5m2": -3.3,
    "bool": True,
}


def test_grids_of_one_to_three_axes(target):
    @T.prim_func
    def kernel(
        A: T.Tensor((9,), "int32"),
        B: T.Tensor((4, 5), "int32"),
        C: T.Tensor((2, 3, 4), "int32"),
        D: T.Tensor((6,), "int32"),
    ):
        with T.Kernel(9) as b:
            A[b] = b
        with T.Kernel(5, 4) as (bx, by):
            B[by, bx] = by * 10 + bx
        with T.Kernel(4, 3, 2, threads=(32, 2)) as (x, y, z):
            C[z, y, x] = z * 100 + y * 10 + x
        with T.Kernel(6, threads=256):
            D[T.get_block_binding(0)] = T.get_thread_extent(0)

    a, _, c, d = check(kernel, target, *(zeros("int32", s) for s in (9, (4, 5), (2, 3, 4), 6)))
    same(a, np.arange(9, dtype=np.int32))
    assert c[1, 2, 3] == 123
    assert (d == 256).all()


def test_kernels_one_after_the_other_share_workspaces(target):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), S: T.Tensor((1,), "float32")):
        partial = T.alloc_global((T.ceildiv(n, 16),), "float32")
        squares = T.alloc_global((n,), "float32")
        with T.Kernel(T.ceildiv(n, 16)) as b:
            tile, total = T.alloc_fragment((16,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(X[b * 16], tile)
            for i in T.Parallel(16):
                tile[i] = tile[i] * tile[i]
            T.copy(tile, squares[b * 16])
            T.reduce_sum(tile, total)
            partial[b] = total[0]
        with T.Kernel(1):
            sum_ = T.alloc_var("float32", init=0)
            for b in T.serial(T.ceildiv(n, 16)):
                sum_ += partial[b]
            S[0] = sum_
        with T.Kernel(n) as i:
            Y[i] = squares[i] / S[0]

    built = compiled(kernel, target)
    for size in (1, 16, 100):
        x = sample("float32", size)
        _, y, s = rerun(built, kernel, x, zeros("float32", size), zeros("float32", 1), compare=close)
        np.testing.assert_allclose(s[0], (x**2).sum(), rtol=1e-5)
        np.testing.assert_allclose(y.sum(), 1, rtol=1e-5)


def test_expressions_of_sizes(target):
    """Sizes that the call solves for, sums, products, quotients, extremes; grids of them; int64 sizes."""
    n, m = T.dynamic("n m")
    k = T.dynamic("k", "int64")

    @T.prim_func
    def kernel(
        A: T.Tensor((n * 4,), "int32"),
        B: T.Tensor((n + 1, m), "int32"),
        C: T.Tensor((m // 2 + n,), "int32"),
        D: T.Tensor((k, 3), "int32"),
        E: T.Tensor((8,), "int64"),
    ):
        with T.Kernel(n * 4) as b:
            A[b] = b + m
        with T.Kernel(n + 1) as b:
            for j in T.Parallel(m):
                B[b, j] = b * m + j
        with T.Kernel(T.ceildiv(m // 2 + n, 4)) as b:
            for i in T.Parallel(4):
                C[b * 4 + i] = n - m
        with T.Kernel(k) as b:
            for j in T.Parallel(3):
                D[b, j] = b * 3 + j
        with T.Kernel(1):
            E[0], E[1], E[2] = n, m, k
            E[3] = T.max(n, m) - T.min(n, m)
            E[4] = A.shape[0] * B.shape[0] + C.shape[0]
            E[5] = k * 1000000007
            E[6] = T.if_then_else(n > m, 1, 0)
            E[7] = D.shape[0] // 2

    built = compiled(kernel, target)
    for a, b, c in ((1, 0, 1), (3, 8, 5), (10, 7, 100)):
        args = [zeros("int32", s) for s in (a * 4, (a + 1, b), b // 2 + a, (c, 3))]
        *_, e = rerun(built, kernel, *args, zeros("int64", 8))
        assert e[:3].tolist() == [a, b, c]
    with pytest.raises(ArgumentError, match="A"):
        built(*[zeros("int32", s) for s in (7, (2, 3), 2, (1, 3))], zeros("int64", 8))


def test_empty_and_large(target):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 1024)) as b:
            for i in T.Parallel(1024):
                Y[b * 1024 + i] = X[b * 1024 + i] * 2

    built = compiled(kernel, target)
    for size in (0, 1, 1023, 1024, 1025, 300_001):
        x, y = sample("float32", size), zeros("float32", size)
        built(x, y)
        same(y, x * 2)


def test_scalar_parameters(target):
    """Of every element type, at the ends of its range, between tensors."""
    kinds = list(SCALARS)

    @T.prim_func
    def kernel(
        a: T.int8,
        b: T.uint8,
        c: T.int16,
        d: T.uint16,
        X: T.Tensor((4,), "float32"),
        e: T.int32,
        f: T.uint32,
        g: T.int64,
        h: T.uint64,
        i: T.float32,
        j: T.float64,
        k: T.float16,
        bf: T.bfloat16,
        m: T.float8_e4m3fn,
        n: T.float8_e5m2,
        p: T.bool,
        Z: T.Tensor((7,), "int64"),
        U: T.Tensor((2,), "uint64"),
        F: T.Tensor((6,), "float64"),
    ):
        with T.Kernel(1):
            Z[0], Z[1], Z[2], Z[3], Z[4], Z[5], Z[6] = a, b, c, d, e, f, g
            U[0] = h
            U[1] = T.if_then_else(p, 1, 2)
            F[0], F[1], F[2], F[3], F[4], F[5] = i, j, k, bf, m, n
            for q in T.Parallel(4):
                X[q] = X[q] * i + e + T.cast(k, "float32")

    scalars = [SCALARS[kind] for kind in kinds]
    args = [
        *scalars[:4],
        sample("float32", 4),
        *scalars[4:],
        zeros("int64", 7),
        zeros("uint64", 2),
        zeros("float64", 6),
    ]
    *_, integers, unsigned, floats = check(kernel, target, *args, compare=close)
    assert integers.tolist() == scalars[:7]
    assert unsigned.tolist() == [2**64 - 1, 1]
    expected = [np.array(v).astype(element(k)).astype(np.float64) for k, v in list(SCALARS.items())[8:14]]
    same(floats, np.array(expected))


def test_every_kind_of_argument_at_once(target):
    """Tensors and scalars in turn, a size of the call, and a workspace: each finds its own place."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(
        scale: T.float32, X: T.Tensor((n,), "float32"), start: T.int64, Y: T.Tensor((n,), "float32"), step: T.int16
    ):
        W = T.alloc_global((n,), "float32")
        with T.Kernel(T.ceildiv(n, 32), threads=32) as b:
            for i in T.Parallel(32):
                if b * 32 + i < n:
                    W[b * 32 + i] = X[b * 32 + i] * scale
        with T.Kernel(T.ceildiv(n, 32), threads=32) as b:
            for i in T.Parallel(32):
                if b * 32 + i < n:
                    Y[b * 32 + i] = W[n - 1 - b * 32 - i] + T.cast(start + step, "float32")

    built = compiled(kernel, target)
    for size in (1, 33, 100):
        x = sample("float32", size)
        *_, y = rerun(built, kernel, np.float32(0.5), x, 40, zeros("float32", size), -7)
        np.testing.assert_array_equal(y, x[::-1] * np.float32(0.5) + 33)


def test_scalars_as_sizes_of_loops(target):
    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), count: T.int32, step: T.int64):
        with T.Kernel(T.ceildiv(count, 8)) as b:
            for i in T.Parallel(8):
                if b * 8 + i < count:
                    X[b * 8 + i] = (b * 8 + i) * T.cast(step, "int32")

    built = compiled(kernel, target)
    for count, step in ((0, 1), (5, 3), (64, -1)):
        rerun(built, kernel, zeros("int32", 64), count, step)


def test_a_scalar_that_is_a_size_of_tensors(target):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(size: n, X: T.Tensor((n, 3), "int32"), Y: T.Tensor((n + 2,), "int32")):
        buffer = T.alloc_global((n * 2,), "int32")
        with T.Kernel(n) as b:
            buffer[2 * b] = X[b, 0] + n
            Y[b] = buffer[2 * b] + X[b, 2]

    built = compiled(kernel, target)
    for size in (1, 9):
        rerun(built, kernel, size, sample("int32", (size, 3)), zeros("int32", size + 2))
    with pytest.raises(ArgumentError, match="X"):
        built(4, zeros("int32", (5, 3)), zeros("int32", 6))


def test_hints_change_nothing(target):
    @T.prim_func
    def kernel(X: T.Tensor((32, 32), "float32"), Y: T.Tensor((32, 32), "float32")):
        with T.Kernel(4, 4, threads=128) as (bx, by):
            T.use_swizzle(4)
            T.use_swizzle(panel_size=2, order="column", enable=True)
            tile = T.alloc_shared((8, 8), "float32")
            T.annotate_layout({tile: T.Layout((8, 8), lambda i, j: (i, j))})
            T.annotate_l2_hit_ratio({X: 0.9})
            T.annotate_restrict_buffers(X, Y)
            T.annotate_min_blocks_per_sm(2)
            T.annotate_padding({tile: 4})
            T.disable_warp_group_reg_alloc()
            T.no_set_max_nreg()
            T.set_max_nreg(40, 1)
            T.copy(X[by * 8, bx * 8], tile, coalesced_width=4, disable_tma=True)
            T.sync_threads()
            for i, j in T.Parallel(8, 8, coalesced_width=2, prefer_async=True):
                tile[i, j] = tile[i, j] + 1
            T.assume(bx < 4)
            T.copy(tile, Y[by * 8, bx * 8], eviction_policy="evict_last", annotations={"any": 1})

    x = sample("float32", (32, 32))
    _, y = check(kernel, target, x, zeros("float32", (32, 32)))
    same(y, x + 1)


def test_offsets_beyond_32_bits_of_a_sparse_view(target):
    """Elements more than 2^31 apart, by strides over one small memory: index arithmetic is wide enough."""
    stride = T.dynamic("s", "int64")

    @T.prim_func
    def kernel(X: T.StridedTensor((2, 4), (stride, 1), "int8"), Y: T.Tensor((2, 4), "int8")):
        with T.Kernel(1):
            for i, j in T.Parallel(2, 4):
                Y[i, j] = X[i, j]

    x, y = np.arange(-8, 8, dtype=np.int8), zeros("int8", (2, 4))
    view = np.ndarray((2, 4), np.int8, x, 0, (12, 1))
    compiled(kernel, target)(view, y)
    same(y, x.reshape(-1)[[[0, 1, 2, 3], [12, 13, 14, 15]]])


def test_calls_from_several_threads(target):
    from concurrent.futures import ThreadPoolExecutor

    @T.prim_func
    def kernel(X: T.Tensor((4096,), "float32"), Y: T.Tensor((4096,), "float32")):
        with T.Kernel(16) as b:
            tile = T.alloc_shared((256,), "float32")
            T.copy(X[b * 256], tile)
            for i in T.Parallel(256):
                tile[i] = T.sqrt(tile[i] * tile[i])
            T.copy(tile, Y[b * 256])

    built = compiled(kernel, target)

    def run(seed):
        x, y = sample("float32", 4096, seed), zeros("float32", 4096)
        for _ in range(20):
            built(x, y)
        return np.abs(np.abs(x) - y).max()

    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(run, range(8))) <= 1e-6


def test_big_tiles(target):
    """Buffers too large for a stack, several at once; too large for shared memory, where there is such."""

    @T.prim_func
    def kernel(X: T.Tensor((300, 300), "float64"), Y: T.Tensor((300, 300), "float64")):
        with T.Kernel(2) as b:
            first, second = T.alloc_shared((300, 300), "float64"), T.alloc_fragment((300, 300), "float64")
            T.copy(X, first)
            T.transpose(first, second)
            for i, j in T.Parallel(300, 300):
                first[i, j] = first[i, j] + second[i, j]
            if b == 1:
                T.copy(first, Y)

    x = sample("float64", (300, 300))
    if has_warps(target):
        with pytest.raises(UnsupportedError, match="720000 bytes of shared memory"):
            compiled(kernel, target)
        return
    args = copies([x, zeros("float64", (300, 300))])
    compiled(kernel, target)(*args)
    same(args[1], x + x.T)
