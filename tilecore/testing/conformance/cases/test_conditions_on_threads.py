"""Tile operations and T.Parallel under conditions on the thread index, which ranges of whole warps satisfy."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, close, sample, zeros


@pytest.mark.parametrize("first", [True, False])
def test_a_range_of_threads_copies(target, first):
    M, N, block_M, block_N = 40, 56, 16, 32

    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float16"), B: T.Tensor((2, M, N), "float16")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=256) as (bx, by):
            copied, looped = (
                T.alloc_shared((block_M, block_N), "float16"),
                T.alloc_shared((block_M, block_N), "float16"),
            )
            tx = T.get_thread_binding()
            if first:
                if tx < 128:
                    T.copy(A[by * block_M, bx * block_N], copied)
                    for i, k in T.Parallel(block_M, block_N):
                        looped[i, k] = A[by * block_M + i, bx * block_N + k]
            else:
                if tx >= 128 and tx < 256:
                    T.copy(A[by * block_M, bx * block_N], copied)
                if T.get_warp_idx() == 3:
                    for i, k in T.Parallel(block_M, block_N):
                        looped[i, k] = A[by * block_M + i, bx * block_N + k]
            T.copy(copied, B[0, by * block_M, bx * block_N])
            T.copy(looped, B[1, by * block_M, bx * block_N])

    a = sample("float16", (M, N))
    b = check(kernel, target, a, zeros("float16", (2, M, N)))[1]
    np.testing.assert_array_equal(b, np.stack([a, a]))


def test_both_sides_with_statements_of_threads(target):
    """Each side has tile operations, in a loop and a further condition, and stores of its threads in between."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 64), "float32"), Y: T.Tensor((64, 4), "float32"), S: T.Tensor((3, 64), "float32"),
        F: T.Tensor((1,), "int32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=(32, 2)):
            tx, ty = T.get_thread_binding(0), T.get_thread_binding(1)
            tile, total = T.alloc_shared((4, 64), "float32"), T.alloc_fragment((64,), "float32")
            other = T.alloc_shared((64, 4), "float32")
            thread = ty * 32 + tx
            T.clear(total)
            if thread < 32:
                T.copy(A, tile)
                S[0, thread] = T.cast(thread, "float32") + tile[0, 0]
                for k in T.serial(4):
                    for i in T.Parallel(64):
                        total[i] += tile[k, i]
                    S[0, 32 + thread] = tile[k, thread]
                T.copy(total, S[1, :])
            else:
                if F[0] > 0:
                    T.transpose(tile, other)
                S[2, thread - 32] = 0.5
                T.copy(other, Y)
            if thread == 40:
                T.fill(A[2, :], 9.0)

    a = sample("float32", (4, 64))
    outputs = (zeros("float32", (64, 4)), zeros("float32", (3, 64)))
    after, y, s, _ = check(kernel, target, a, *outputs, np.ones(1, np.int32), compare=close)
    np.testing.assert_array_equal(y, a.T)
    np.testing.assert_allclose(s[0], np.r_[np.arange(32) + a[0, 0], a[3, :32]], rtol=1e-6)
    np.testing.assert_allclose(s[1], a.sum(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(s[2], np.repeat(np.float32([0.5, 0]), 32))
    np.testing.assert_array_equal(after[2], np.full(64, 9, np.float32))
