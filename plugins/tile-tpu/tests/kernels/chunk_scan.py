"""A state space model in chunks (SSD, Mamba-2, Dao and Gu 2024): products in a chunk, a state from one to the next."""

from typing import Any

import tilecore.language as T


def chunk_scan(
    length: int, heads: int, dim: int, state: int, chunk: int = 64, dtype: str = "float16", stages: int = 2
) -> Any:
    """Y_t = C_t S_t where S_t = exp(Decay_t) S_(t-1) + B_t^T X_t, for each head.

    X, Y (heads, length, dim); B, C (length, state), the same for all heads; Decay (heads, length), float32, logarithms;
    Last (heads, state, dim), float32: the state behind the last step."""
    single = "float32"

    @T.prim_func
    def chunk_scan_kernel(
        X: T.Tensor((heads, length, dim), dtype),
        B: T.Tensor((length, state), dtype),
        C: T.Tensor((length, state), dtype),
        Decay: T.Tensor((heads, length), single),
        Y: T.Tensor((heads, length, dim), dtype),
        Last: T.Tensor((heads, state, dim), single),
    ):
        with T.Kernel(heads, threads=128) as h:
            x = T.alloc_shared((chunk, dim), dtype)
            b, c = T.alloc_shared((chunk, state), dtype), T.alloc_shared((chunk, state), dtype)
            seen = T.alloc_fragment((chunk, chunk), single)
            weights = T.alloc_fragment((chunk, chunk), dtype)
            rows, columns = T.alloc_fragment((chunk,), single), T.alloc_fragment((chunk,), single)
            y, states = T.alloc_fragment((chunk, dim), single), T.alloc_fragment((state, dim), single)
            narrow = T.alloc_fragment((state, dim), dtype)
            whole, left = T.alloc_fragment((1,), single), T.alloc_fragment((chunk,), single)
            later = T.alloc_fragment((chunk, state), dtype)
            T.clear(states)
            for step in T.Pipelined(T.ceildiv(length, chunk), num_stages=stages):
                T.copy(X[h, step * chunk : (step + 1) * chunk, :], x)
                T.copy(B[step * chunk, 0], b)
                T.copy(C[step * chunk, 0], c)
                T.copy(Decay[h, step * chunk : (step + 1) * chunk], rows)
                T.copy(Decay[h, step * chunk : (step + 1) * chunk], columns)
                T.reduce_sum(rows, whole, dim=0)
                T.cumsum(rows, dim=0)
                T.cumsum(columns, dim=0)
                # what earlier steps of the chunk leave
                T.gemm(c, b, seen, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    weights[i, j] = T.if_then_else(i >= j, seen[i, j] * T.exp(rows[i] - columns[j]), 0)
                # what the chunks before leave
                T.copy(states, narrow)
                T.gemm(c, narrow, y, clear_accum=True)
                for i, j in T.Parallel(chunk, dim):
                    y[i, j] *= T.exp(rows[i])
                T.gemm(weights, x, y)
                T.copy(y, Y[h, step * chunk : (step + 1) * chunk, :])
                # what this chunk leaves
                for i in T.Parallel(chunk):
                    left[i] = T.exp(whole[0] - rows[i])
                for i, j in T.Parallel(chunk, state):
                    later[i, j] = b[i, j] * left[i]
                for i, j in T.Parallel(state, dim):
                    states[i, j] *= T.exp(whole[0])
                T.gemm(later, x, states, transpose_A=True)
            T.copy(states, Last[h, :, :])

    return chunk_scan_kernel
