"""Kernels for tests of errors."""

from __future__ import annotations

import tilecore.language as T


def product(size: int, tile: int, dtype: str = "float16", sums: str = "float32", stages: int = 2):
    """C = A @ B, all of them size x size."""

    @T.prim_func
    def mm(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), sums)):
        with T.Kernel(T.ceildiv(size, tile), T.ceildiv(size, tile)) as (i, j):
            a = T.alloc_shared((tile, tile), dtype)
            b = T.alloc_shared((tile, tile), dtype)
            c = T.alloc_fragment((tile, tile), sums)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(size, tile), num_stages=stages):
                T.copy(A[j * tile, k * tile], a)
                T.copy(B[k * tile, i * tile], b)
                T.gemm(a, b, c)
            T.copy(c, C[j * tile, i * tile])

    return mm


@T.prim_func
def halves(A: T.Tensor((33,), "float16"), B: T.Tensor((33,), "float16")):
    with T.Kernel(1):
        for i in T.Parallel(33):
            B[i] = A[i] + T.float16(1)


@T.prim_func
def endless(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
    with T.Kernel(1):
        while A[0] > 0:
            B[0] = B[0] + 1
