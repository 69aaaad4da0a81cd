"""Slices of buffers: with a name, as tiles, sliced again, by their elements; T.any_of and T.all_of of tiles."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, close, sample, zeros


def test_slices_with_a_name(target):
    """A slice is a view, as numpy's: its element 0 is where it starts, an axis with an index is none of its own."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((4, 32), "float32"), Z: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((4, 32), "float32")
            whole = s[:4, :32]
            T.copy(X, whole)
            part = s[1, :][8:24]
            part[0] = 7
            lower = whole[2:, -16:]
            for i in T.Parallel(16):
                Y[0, i] = part[i] + lower[1, i]
                Y[1, i] = X[2, :][i] + part[-1]
            out = Y[2:4, 4:20]
            T.copy(lower, out)
            out[0, 3] += 1
            Z[0] = out.shape[0] * 100 + out.shape[1]
            Z[1] = part.ndim

    x, expected = sample("float32", (4, 32)), zeros("float32", (4, 32))
    got = check(kernel, target, x, zeros("float32", (4, 32)), zeros("int32", (2,)))
    s = x.copy()
    part, lower, out = s[1, :][8:24], s[2:, -16:], expected[2:4, 4:20]
    part[0] = 7
    expected[0, :16], expected[1, :16] = part + lower[1], x[2, :16] + part[-1]
    out[:] = lower
    out[0, 3] += 1
    np.testing.assert_array_equal(got[1], expected)
    assert got[2].tolist() == [216, 1]


def test_products_of_slices(target):
    """Slices with names are operands of T.gemm, in a T.Pipelined loop too."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 64), "float16"), B: T.Tensor((32, 64), "float16"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((32, 32), "float16"), T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            a_tile, c_tile = a[:32, :32], c[:32, :32]
            T.clear(c_tile)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 32], a_tile)
                T.copy(B[0, k * 32], b[:32, :32])
                T.gemm(a_tile, b, c_tile, transpose_B=True)
            T.copy(c, C)

    a, b = sample("float16", (32, 64)), sample("float16", (64, 32)).reshape(32, 64)[::-1].copy()
    got = check(kernel, target, a, b, zeros("float32", (32, 32)), compare=close)
    np.testing.assert_allclose(got[2], a.astype(np.float32) @ b.astype(np.float32).T, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("count", [5, 40])
def test_conditions_of_tiles(target, count):
    """T.any_of and T.all_of of the elements of tensors, slices, shared memory and memory of a thread."""

    @T.prim_func
    def kernel(M: T.Tensor((4, count), "bool"), N: T.Tensor((4, count), "int32"), Y: T.Tensor((4, 6), "int32")):
        with T.Kernel(4, threads=32) as b:
            s = T.alloc_shared((count,), "int32")
            mine = T.alloc_local((count,), "bool")
            T.copy(N[b, :], s)
            for i in T.serial(count):
                mine[i] = M[b, i]
            if T.any_of(M[b, :]):
                T.fill(Y[b, 0:1], 1)
            if T.all_of(M[b, 1:4]):
                T.fill(Y[b, 1:2], 1)
            if T.any_of(s):
                T.fill(Y[b, 2:3], 1)
            if T.all_of(buffer=s[1:]):
                T.fill(Y[b, 3:4], 1)
            if T.any_of(mine):
                Y[b, 4] = 1
            if T.all_of(mine[1:], b > 0):
                Y[b, 5] = 1

    mask = np.ones((4, count), bool)
    mask[0], mask[1, 4], mask[2, 2:] = False, False, False
    numbers = mask * np.arange(2, count + 2, dtype=np.int32)
    got = check(kernel, target, mask, numbers.astype(np.int32), zeros("int32", (4, 6)))
    later = [bool(row and mask[row, 1:].all()) for row in range(4)]
    expected = [
        mask.any(1), mask[:, 1:4].all(1), mask.any(1), mask[:, 1:].all(1), mask.any(1), later,
    ]  # fmt: skip
    np.testing.assert_array_equal(got[2], np.stack(expected, 1).astype(np.int32))
