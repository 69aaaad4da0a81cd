"""The kernels that the demo shows; written as a user would write them, the same for every target."""

from __future__ import annotations

import tilecore
import tilecore.language as T


@tilecore.jit
def matmul(M, N, K, block_M=128, block_N=128, block_K=16, dtype="float32", accum_dtype="float32", num_stages=2):
    """C = A @ B."""

    @T.prim_func
    def matmul_kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return matmul_kernel


@tilecore.jit
def softmax(M, N, block_M=4, dtype="float32"):
    """Y[i, :] = softmax(X[i, :]), a few whole rows a block."""

    @T.prim_func
    def softmax_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            row = T.alloc_fragment((block_M, N), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], row)
            T.reduce_max(row, largest, dim=1)
            for i, j in T.Parallel(block_M, N):
                row[i, j] = T.exp(row[i, j] - largest[i])
            T.reduce_sum(row, total, dim=1)
            for i in T.Parallel(block_M):
                total[i] = 1.0 / total[i]  # one division a row: a product costs a fraction of it
            for i, j in T.Parallel(block_M, N):
                row[i, j] = row[i, j] * total[i]
            T.copy(row, Y[bx * block_M, 0])

    return softmax_kernel


@tilecore.jit
def rms_norm(M, N, block_M=4, eps=1e-6, dtype="float32"):
    """Y = X / sqrt(mean(X^2) + eps) * W, row by row."""

    @T.prim_func
    def rms_norm_kernel(X: T.Tensor((M, N), dtype), W: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            row = T.alloc_fragment((block_M, N), "float32")
            squares = T.alloc_fragment((block_M, N), "float32")
            scale = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], row)
            for i, j in T.Parallel(block_M, N):
                squares[i, j] = row[i, j] * row[i, j]
            T.reduce_sum(squares, scale, dim=1)
            for i in T.Parallel(block_M):
                scale[i] = T.rsqrt(scale[i] / N + eps)
            for i, j in T.Parallel(block_M, N):
                row[i, j] = row[i, j] * scale[i] * W[j]
            T.copy(row, Y[bx * block_M, 0])

    return rms_norm_kernel


@tilecore.jit
def flash_attention(batch, heads, seq_len, dim, is_causal=False, block_M=64, block_N=32, dtype="float32", num_stages=1):
    """O = softmax(Q K^T / sqrt(dim)) V for [batch, heads, seq_len, dim], without storing the scores."""
    scale = (1.0 / dim) ** 0.5 * 1.44269504  # log2(e): exp2 is the cheaper exponential
    shape = (batch, heads, seq_len, dim)

    @T.prim_func
    def flash_attention_kernel(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        O: T.Tensor(shape, dtype),  # noqa: E741
    ):
        with T.Kernel(T.ceildiv(seq_len, block_M), heads, batch, threads=128) as (bx, by, bz):
            Q_shared = T.alloc_shared((block_M, dim), dtype)
            K_shared = T.alloc_shared((block_N, dim), dtype)
            V_shared = T.alloc_shared((block_N, dim), dtype)
            scores = T.alloc_fragment((block_M, block_N), "float32")
            weights = T.alloc_fragment((block_M, block_N), dtype)
            out = T.alloc_fragment((block_M, dim), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            largest_before = T.alloc_fragment((block_M,), "float32")
            rescale = T.alloc_fragment((block_M,), "float32")
            block_sum = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")

            T.copy(Q[bz, by, bx * block_M : (bx + 1) * block_M, :], Q_shared)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            steps = T.ceildiv((bx + 1) * block_M, block_N) if is_causal else T.ceildiv(seq_len, block_N)
            for k in T.Pipelined(steps, num_stages=num_stages):
                T.copy(K[bz, by, k * block_N : (k + 1) * block_N, :], K_shared)
                for i, j in T.Parallel(block_M, block_N):
                    if is_causal:
                        visible = (bx * block_M + i >= k * block_N + j) and (k * block_N + j < seq_len)
                    else:
                        visible = k * block_N + j < seq_len
                    scores[i, j] = T.if_then_else(visible, 0, -T.infinity("float32"))
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(largest, largest_before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    rescale[i] = T.exp2(largest_before[i] * scale - largest[i] * scale)
                for i, j in T.Parallel(block_M, block_N):
                    offset = largest[i] * scale  # rounded by itself: what follows is one fused multiply-add
                    scores[i, j] = T.exp2(scores[i, j] * scale - offset)
                T.reduce_sum(scores, block_sum, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * rescale[i] + block_sum[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block_M, dim):
                    out[i, j] *= rescale[i]
                T.copy(V[bz, by, k * block_N : (k + 1) * block_N, :], V_shared)
                T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                out[i, j] /= total[i]
            T.copy(out, O[bz, by, bx * block_M : (bx + 1) * block_M, :])

    return flash_attention_kernel


@tilecore.jit
def dequant_matmul(M, N, K, group=32, block_M=32, block_N=128, block_K=64, dtype="float32"):
    """C = A @ (B * scale) with B in packed int4 [K, N / 2] and one scale for ``group`` rows of each column."""

    @T.prim_func
    def dequant_matmul_kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N // 2), "uint8"),
        Scale: T.Tensor((K // group, N), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_packed = T.alloc_shared((block_K, block_N // 2), "uint8")
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * (block_N // 2)], B_packed)
                for i, j in T.Parallel(block_K, block_N):
                    nibble = (T.cast(B_packed[i, j // 2], "int32") >> (j % 2 * 4)) & 15
                    weight = T.cast(nibble - 8, dtype)
                    B_shared[i, j] = weight * Scale[(k * block_K + i) // group, bx * block_N + j]
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return dequant_matmul_kernel


@tilecore.jit
def column_sum(M, N, block_M=64, block_N=256, dtype="float32"):
    """Y[j] = sum over i of X[i, j]: blocks of rows are summed apart and joined by atomic additions."""

    @T.prim_func
    def column_sum_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            tile = T.alloc_shared((block_M, block_N), dtype)
            partial = T.alloc_fragment((block_N,), dtype)
            T.copy(X[by * block_M, bx * block_N], tile)
            T.reduce_sum(tile, partial, dim=0)
            T.atomic_add(Y[bx * block_N], partial)

    return column_sum_kernel
