"""Calls in place: one tensor for two parameters, of kernels that read all before they write."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import compiled, sample

N = T.dynamic("n")


def reversed_rows(shape):
    @T.prim_func
    def kernel(A: T.Tensor(shape, "int32"), B: T.Tensor(shape, "int32")):
        with T.Kernel(shape[0]) as b:
            t = T.alloc_shared((32,), "int32")
            T.copy(A[b, 0], t)
            for i in T.Parallel(32):
                B[b, 31 - i] = t[i]

    return kernel


@pytest.mark.parametrize("shape", [(4, 32), (N, 32)])
def test_rows_that_are_reversed(target, shape):
    array = sample("int32", (4, 32))
    expected = array[:, ::-1].copy()
    compiled(reversed_rows(shape), target)(array, array)
    np.testing.assert_array_equal(array, expected)


def test_a_row_that_is_turned_by_its_halves(target):
    """As rotary embeddings do."""

    @T.prim_func
    def kernel(X: T.Tensor((8, 64), "float32"), C: T.Tensor((32,), "float32"), Y: T.Tensor((8, 64), "float32")):
        with T.Kernel(8) as b:
            low, high = T.alloc_fragment((32,), "float32"), T.alloc_fragment((32,), "float32")
            T.copy(X[b, 0], low)
            T.copy(X[b, 32], high)
            for i in T.Parallel(32):
                Y[b, i] = low[i] * C[i] - high[i]
            for i in T.Parallel(32):
                Y[b, 32 + i] = high[i] * C[i] + low[i]

    x, c = sample("float32", (8, 64)), sample("float32", 32, 1)
    low, high = x[:, :32].copy(), x[:, 32:].copy()
    compiled(kernel, target)(x, c, x)
    expected = np.concatenate([low * c - high, high * c + low], axis=1)
    np.testing.assert_allclose(x, expected, rtol=1e-5, atol=1e-5)


def test_a_square_that_is_transposed(target):
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "int32"), B: T.Tensor((16, 16), "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((16, 16), "int32")
            T.copy(A, t)
            T.transpose(t, B)

    array = sample("int32", (16, 16))
    expected = array.T.copy()
    compiled(kernel, target)(array, array)
    np.testing.assert_array_equal(array, expected)


def test_other_types_of_the_same_bytes(target):
    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1):
            t = T.alloc_shared((32,), "int32")
            T.copy(A, t)
            for i in T.Parallel(32):
                B[31 - i] = T.cast(t[i], "float32")

    array = sample("int32", 32)
    expected = array[::-1].astype(np.float32)
    compiled(kernel, target)(array, array.view(np.float32))
    np.testing.assert_array_equal(array.view(np.float32), expected)


def test_sums_of_a_row_come_after_its_elements(target):
    @T.prim_func
    def kernel(A: T.Tensor((N, 64), "float32"), B: T.Tensor((N, 64), "float32")):
        with T.Kernel(N) as b:
            x, total = T.alloc_fragment((1, 64), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(A[b, 0], x)
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(1, 64):
                B[b, 63 - j] = x[i, j] / total[i]

    array = np.abs(sample("float32", (5, 64))) + 1
    expected = (array / array.sum(1, keepdims=True))[:, ::-1]
    compiled(kernel, target)(array, array)
    np.testing.assert_allclose(array, expected, rtol=1e-5)
