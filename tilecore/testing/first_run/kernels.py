"""The kernels of the first run. Each function returns a kernel for its sizes."""

from __future__ import annotations

from typing import Any

import tilecore.language as T


def add(threads: int = 256) -> Any:
    """C = A + B of any length."""
    n = T.dynamic("n")

    @T.prim_func
    def add_kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, threads), threads=threads) as block:
            for i in T.Parallel(threads):
                if block * threads + i < n:
                    C[block * threads + i] = A[block * threads + i] + B[block * threads + i]

    return add_kernel


def reverse(size: int, threads: int = 256) -> Any:
    """Y = X from the last element to the first, by way of shared memory, which takes ``4 * size`` bytes."""

    @T.prim_func
    def reverse_kernel(X: T.Tensor((size,), "float32"), Y: T.Tensor((size,), "float32")):
        with T.Kernel(1, threads=threads):
            tile = T.alloc_shared((size,), "float32")
            T.copy(X, tile)
            for i in T.Parallel(size):
                Y[i] = tile[size - 1 - i]

    return reverse_kernel


def softmax(rows: int, columns: int, threads: int = 256) -> Any:
    """Y[i, :] = softmax(X[i, :]): reductions over all lanes of a block."""

    @T.prim_func
    def softmax_kernel(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, threads=threads) as row:
            values = T.alloc_fragment((1, columns), "float32")
            largest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], values)
            T.reduce_max(values, largest, dim=1)
            for i, j in T.Parallel(1, columns):
                values[i, j] = T.exp(values[i, j] - largest[i])
            T.reduce_sum(values, total, dim=1)
            for i, j in T.Parallel(1, columns):
                values[i, j] = values[i, j] / total[i]
            T.copy(values, Y[row, 0])

    return softmax_kernel


def count_up(blocks: int) -> Any:
    """Adds 1 to X[0] from every thread of all blocks."""

    @T.prim_func
    def count_kernel(X: T.Tensor((1,), "int32")):
        with T.Kernel(blocks, threads=256):
            for _ in T.Parallel(256):
                T.atomic_add(X[0], 1)

    return count_kernel


def talks() -> Any:
    """Prints the number of each of two blocks."""

    @T.prim_func
    def talks_kernel(X: T.Tensor((2,), "int32")):
        with T.Kernel(2, threads=64) as block:
            T.print(X[block], msg="block")

    return talks_kernel


def asserts() -> Any:
    """Fails where an element of X is not below 90."""

    @T.prim_func
    def asserts_kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                T.device_assert(X[i] < 90, "too large")
                Y[i] = X[i] + 1

    return asserts_kernel


def many_blocks(threads: int = 1024) -> Any:
    """One block for each of ``n``, which writes nothing unless it is block 0."""

    @T.prim_func
    def many_blocks_kernel(X: T.Tensor((1,), "int32"), n: T.int32):
        with T.Kernel(n, threads=threads) as block:
            if block == 0:
                X[0] = 1

    return many_blocks_kernel


def gemm(
    M: int, N: int, K: int, dtype: str, block_M: int = 128, block_N: int = 128, block_K: int = 32, stages: int = 1,
    threads: int = 256,
) -> Any:  # fmt: skip
    """C = A @ B, summed in float32."""

    @T.prim_func
    def gemm_kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return gemm_kernel


def attention(
    batch: int, heads: int, length: int, dim: int, dtype: str, block_M: int = 64, block_N: int = 32, threads: int = 256
) -> Any:
    """Out = softmax(Q K^T / sqrt(dim)) V; tensors are [batch, heads, length, dim], whole blocks of length."""
    to_log2 = 1.4426950408889634 / dim**0.5
    shape = (batch, heads, length, dim)

    @T.prim_func
    def attention_kernel(
        Q: T.Tensor(shape, dtype), K: T.Tensor(shape, dtype), V: T.Tensor(shape, dtype), Out: T.Tensor(shape, dtype)
    ):
        with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=threads) as (bx, h, b):
            Q_shared = T.alloc_shared((block_M, dim), dtype)
            K_shared = T.alloc_shared((block_N, dim), dtype)
            V_shared = T.alloc_shared((block_N, dim), dtype)
            scores = T.alloc_fragment((block_M, block_N), "float32")
            weights = T.alloc_fragment((block_M, block_N), dtype)
            out = T.alloc_fragment((block_M, dim), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            largest_before = T.alloc_fragment((block_M,), "float32")
            rescale = T.alloc_fragment((block_M,), "float32")
            tile_total = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            T.copy(Q[b, h, bx * block_M, 0], Q_shared)
            T.clear(out)
            T.clear(total)
            T.fill(largest, -T.infinity("float32"))
            for tile in T.Pipelined(T.ceildiv(length, block_N), num_stages=1):
                T.copy(K[b, h, tile * block_N, 0], K_shared)
                T.clear(scores)
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(largest, largest_before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    rescale[i] = T.exp2((largest_before[i] - largest[i]) * to_log2)
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2((scores[i, j] - largest[i]) * to_log2)
                T.reduce_sum(scores, tile_total, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * rescale[i] + tile_total[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block_M, dim):
                    out[i, j] *= rescale[i]
                T.copy(V[b, h, tile * block_N, 0], V_shared)
                T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[b, h, bx * block_M, 0])

    return attention_kernel
