"""T.gemm: transposes, element types, odd sizes, slices, accumulation."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, close, compiled, rerun, same, sample, wide, zeros

TYPES = [
    ("float32", "float32", "float32"),
    ("float16", "float16", "float32"),
    ("float16", "float16", "float16"),
    ("bfloat16", "bfloat16", "float32"),
    ("bfloat16", "bfloat16", "bfloat16"),
    ("float8_e4m3fn", "float8_e4m3fn", "float32"),
    ("float8_e4m3fn", "float8_e5m2", "float16"),
    ("int8", "int8", "int32"),
    ("uint8", "int8", "int32"),
    ("int8", "uint8", "int32"),
    ("uint8", "uint8", "uint32"),
    ("int32", "int32", "int32"),
    ("float64", "float64", "float64"),
    ("int8", "int8", "float32"),
]


def product(m, n, k, a_type, b_type, c_type, transposes):
    """One product for each (transpose_A, transpose_B, clear_accum), all on the same operands."""

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), a_type),
        B: T.Tensor((k, n), b_type),
        C: T.Tensor((m, n), c_type),
        Y: T.Tensor((len(transposes), m, n), c_type),
    ):
        with T.Kernel(1):
            for number, (ta, tb, clear) in enumerate(transposes):
                a = T.alloc_shared((k, m) if ta else (m, k), a_type)
                b = T.alloc_shared((n, k) if tb else (k, n), b_type)
                c = T.alloc_fragment((m, n), c_type)
                (T.transpose if ta else T.copy)(A, a)
                (T.transpose if tb else T.copy)(B, b)
                T.copy(C, c)
                T.gemm(a, b, c, transpose_A=ta, transpose_B=tb, clear_accum=clear)
                T.copy(c, Y[number, :, :])

    return kernel


def within(steps):
    return lambda got, expected, label: close(got, expected, steps, label)


def operands(m, n, k, a_type, b_type, c_type):
    return sample(a_type, (m, k), 1), sample(b_type, (k, n), 2), sample(c_type, (m, n), 3)


# transpose_A, transpose_B, clear_accum
SOME = [(False, False, False), (True, True, True)]
ALL = [*SOME, (False, True, False), (True, False, True)]


@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_element_types_and_transposes(target, types):
    m, n, k = 19, 37, 45
    a, b, c = operands(m, n, k, *types)
    forms = ALL if types in (TYPES[0], TYPES[3], TYPES[7]) else SOME
    kernel = product(m, n, k, *types, forms)
    *_, y = check(kernel, target, a, b, c, zeros(types[2], (len(forms), m, n)), compare=within(8))
    if types[2] == "int32":
        same(y[0], (a.astype(np.int64) @ b.astype(np.int64) + c).astype(np.int32))


@pytest.mark.parametrize("types", [TYPES[0], TYPES[3], TYPES[7]], ids="-".join)
@pytest.mark.parametrize("size", [(1, 1, 1), (1, 40, 7), (33, 1, 16), (8, 32, 1), (17, 65, 33), (16, 16, 16)], ids=str)
def test_sizes(target, types, size):
    a, b, c = operands(*size, *types)
    kernel = product(*size, *types, SOME)
    check(kernel, target, a, b, c, zeros(types[2], (2, *size[:2])), compare=within(8))


@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_tiles_of_whole_vectors(target, types):
    """Sizes for which targets have instructions of their own: every multiple of 32."""
    m, n, k = 32, 64, 96
    kernel = product(m, n, k, *types, SOME)
    check(kernel, target, *operands(m, n, k, *types), zeros(types[2], (2, m, n)), compare=within(8))


def test_whole_matrices_in_tiles(target):
    """Sizes that are no multiple of the tile, accumulated over K."""
    m, n, k = T.dynamic("m n k")

    @T.prim_func
    def kernel(A: T.Tensor((m, k), "float32"), B: T.Tensor((n, k), "float32"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 16), threads=128) as (bx, by):
            a, b = T.alloc_shared((16, 24), "float32"), T.alloc_shared((32, 24), "float32")
            c = T.alloc_fragment((16, 32), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, 24), num_stages=3):
                T.copy(A[by * 16, step * 24], a)
                T.copy(B[bx * 32, step * 24], b)
                T.gemm(a, b, c, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
            T.copy(c, C[by * 16, bx * 32])

    built = compiled(kernel, target)
    for rows, columns, depth in ((16, 32, 24), (50, 70, 90), (1, 3, 5), (33, 1, 200)):
        a, b = sample("float32", (rows, depth)), sample("float32", (columns, depth), 1)
        *_, c = rerun(built, kernel, a, b, zeros("float16", (rows, columns)), compare=close)
        np.testing.assert_allclose(wide(c), wide(a) @ wide(b).T, rtol=2e-3, atol=2e-2)


def test_accumulation_decided_in_the_kernel(target):
    """clear_accum as an expression of the loop, and of data."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 8, 8), "float32"),
        B: T.Tensor((8, 8), "float32"),
        F: T.Tensor((4,), "int32"),
        Y: T.Tensor((2, 8, 8), "float32"),
    ):
        with T.Kernel(1):
            a, b, c = (T.alloc_shared((8, 8), "float32") for _ in (0, 1, 2))
            T.copy(B, b)
            for i in T.serial(4):
                T.copy(A[i, :, :], a)
                T.gemm(a, b, c, clear_accum=(i == 0))
            T.copy(c, Y[0, :, :])
            for i in T.serial(4):
                T.copy(A[i, :, :], a)
                T.gemm(a, b, c, clear_accum=F[i] > 0)
            T.copy(c, Y[1, :, :])

    a, b = sample("float32", (4, 8, 8)), sample("float32", (8, 8), 1)
    *_, y = check(kernel, target, a, b, np.array([0, 1, 1, 0], np.int32), zeros("float32", (2, 8, 8)), compare=close)
    np.testing.assert_allclose(y[0], a.sum(0) @ b, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(y[1], (a[2] + a[3]) @ b, rtol=1e-4, atol=1e-4)


def test_slices_of_larger_buffers(target):
    """Operands and result as parts of buffers of two and three axes, on chip and in global memory."""

    @T.prim_func
    def kernel(
        A: T.Tensor((2, 3, 20, 24), "float32"), B: T.Tensor((24, 40), "float32"), Y: T.Tensor((3, 20, 40), "float32")
    ):
        with T.Kernel(1):
            a, b = T.alloc_shared((3, 20, 24), "float32"), T.alloc_shared((24, 40), "float32")
            c = T.alloc_shared((3, 20, 40), "float32")
            T.copy(A[1, :, :, :], a)
            T.copy(B, b)
            T.clear(c)
            for i in T.serial(3):
                T.gemm(a[i, :, :], b, c[i, :, :])
            T.gemm(a[0, 2:10, 4:20], b[4:20, 8:24], c[2, 4:12, 3:19])
            T.gemm(A[0, 2, 0:4, :], B[:, 0:8], c[1, 0:4, 32:40], clear_accum=True)
            T.copy(c, Y)

    a, b = sample("float32", (2, 3, 20, 24)), sample("float32", (24, 40), 1)
    _, _, y = check(kernel, target, a, b, zeros("float32", (3, 20, 40)), compare=close)
    np.testing.assert_allclose(y[0], a[1, 0] @ b, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(y[1, :4, 32:], a[0, 2, :4] @ b[:, :8], rtol=1e-4, atol=1e-4)


def test_scores_that_are_used_right_away(target):
    """Two products with an elementwise step between, as attention has them."""

    @T.prim_func
    def kernel(
        Q: T.Tensor((32, 16), "float16"),
        K: T.Tensor((48, 16), "float16"),
        V: T.Tensor((48, 24), "float16"),
        Y: T.Tensor((32, 24), "float32"),
    ):
        with T.Kernel(1):
            q, k, v = (
                T.alloc_shared((32, 16), "float16"),
                T.alloc_shared((48, 16), "float16"),
                T.alloc_shared((48, 24), "float16"),
            )
            s, p, o = (
                T.alloc_fragment((32, 48), "float32"),
                T.alloc_fragment((32, 48), "float16"),
                T.alloc_fragment((32, 24), "float32"),
            )
            T.copy(Q, q)
            T.copy(K, k)
            T.copy(V, v)
            T.clear(s)
            T.clear(o)
            T.gemm(q, k, s, transpose_B=True)
            for i, j in T.Parallel(32, 48):
                s[i, j] = T.if_then_else(i >= j, s[i, j] * 0.25, 0)
            T.copy(s, p)
            T.gemm(p, v, o)
            T.copy(o, Y)

    q, k, v = sample("float16", (32, 16)), sample("float16", (48, 16), 1), sample("float16", (48, 24), 2)
    *_, y = check(kernel, target, q, k, v, zeros("float32", (32, 24)), compare=within(2**12))
    expected = (np.tril(np.ones((32, 48))) * (wide(q) @ wide(k).T) * 0.25).astype(np.float16)
    np.testing.assert_allclose(y, wide(expected) @ wide(v), rtol=1e-2, atol=1e-2)
