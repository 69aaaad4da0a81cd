"""Kernels in the style of TileLang programs, built by a module of either name; as_written.py measures them.

Every function takes the module (tilecore or tilelang) and returns a T.prim_func of it, by names that both have. There
is no ``from __future__ import annotations``, as TileLang needs the annotations of kernels as values.
"""

import importlib
from typing import Any


def gemm(
    module: Any, M, N, K, block_M, block_N, block_K, stages, threads, c_shared=True, swizzle=0, layout="NN",
    dtype="float16", out_dtype=None,
):  # fmt: skip
    """C [M, N] = A [M, K] @ B, which is [K, N], or [N, K] with layout NT.

    c_shared: the result goes through a shared tile. swizzle: panel of T.use_swizzle, 0 for none.
    """
    T = importlib.import_module(f"{module.__name__}.language")
    is_transposed = layout == "NT"
    out_dtype = out_dtype or dtype
    B_shape = (N, K) if is_transposed else (K, N)
    B_tile = (block_N, block_K) if is_transposed else (block_K, block_N)

    @T.prim_func
    def gemm_kernel(A: T.Tensor((M, K), dtype), B: T.Tensor(B_shape, dtype), C: T.Tensor((M, N), out_dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared(B_tile, dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            if swizzle:
                T.use_swizzle(swizzle)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                if is_transposed:
                    T.copy(B[bx * block_N, k * block_K], B_shared)
                else:
                    T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=is_transposed)
            if c_shared:
                C_shared = T.alloc_shared((block_M, block_N), out_dtype)
                T.copy(C_local, C_shared)
                T.copy(C_shared, C[by * block_M, bx * block_N])
            else:
                T.copy(C_local, C[by * block_M, bx * block_N])

    return gemm_kernel


def attention(
    module: Any, batch, heads, length, dim, is_causal, block_M, block_N, stages, threads, groups=1, dtype="float16"
):
    """Q and Output [batch, length, heads, dim]; K and V [batch, length, heads // groups, dim]."""
    T = importlib.import_module(f"{module.__name__}.language")
    scale = dim**-0.5 * 1.44269504  # times log2(e), for exp2
    q_shape, kv_shape = (batch, length, heads, dim), (batch, length, heads // groups, dim)

    @T.prim_func
    def attention_kernel(
        Q: T.Tensor(q_shape, dtype),
        K: T.Tensor(kv_shape, dtype),
        V: T.Tensor(kv_shape, dtype),
        Output: T.Tensor(q_shape, dtype),
    ):
        with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=threads) as (bx, by, bz):
            Q_shared = T.alloc_shared((block_M, dim), dtype)
            K_shared = T.alloc_shared((block_N, dim), dtype)
            V_shared = T.alloc_shared((block_N, dim), dtype)
            O_shared = T.alloc_shared((block_M, dim), dtype)
            scores = T.alloc_fragment((block_M, block_N), "float32")
            weights = T.alloc_fragment((block_M, block_N), dtype)
            out = T.alloc_fragment((block_M, dim), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            largest_before = T.alloc_fragment((block_M,), "float32")
            rescale = T.alloc_fragment((block_M,), "float32")
            tile_total = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")

            T.copy(Q[bz, bx * block_M : (bx + 1) * block_M, by, :], Q_shared)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            if is_causal:
                tiles = T.min(T.ceildiv(length, block_N), T.ceildiv((bx + 1) * block_M, block_N))
            else:
                tiles = T.ceildiv(length, block_N)
            for k in T.Pipelined(tiles, num_stages=stages):
                T.copy(K[bz, k * block_N : (k + 1) * block_N, by // groups, :], K_shared)
                if is_causal:
                    for i, j in T.Parallel(block_M, block_N):
                        scores[i, j] = T.if_then_else(bx * block_M + i >= k * block_N + j, 0, -T.infinity("float32"))
                else:
                    for i, j in T.Parallel(block_M, block_N):
                        scores[i, j] = T.if_then_else(k * block_N + j >= length, -T.infinity("float32"), 0)
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(largest, largest_before)
                T.fill(largest, -T.infinity("float32"))
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    largest[i] = T.max(largest[i], largest_before[i])
                for i in T.Parallel(block_M):
                    rescale[i] = T.exp2(largest_before[i] * scale - largest[i] * scale)
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2(scores[i, j] * scale - largest[i] * scale)
                T.reduce_sum(scores, tile_total, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * rescale[i] + tile_total[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block_M, dim):
                    out[i, j] *= rescale[i]
                T.copy(V[bz, k * block_N : (k + 1) * block_N, by // groups, :], V_shared)
                T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                out[i, j] /= total[i]
            T.copy(out, O_shared)
            T.copy(O_shared, Output[bz, bx * block_M : (bx + 1) * block_M, by, :])

    return attention_kernel
