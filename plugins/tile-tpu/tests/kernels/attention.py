"""softmax(Q K^T / sqrt(dim)) V in one pass over the keys, whose tiles are loaded ahead.

A block of queries keeps the largest score so far, the sum of the weights and the weighted sum of the values, and
rescales both sums whenever a larger score turns up (Dao et al. 2022).
"""

from typing import Any

import tilecore.language as T


def attention(
    length: int, block_m: int, block_n: int, stages: int, heads: int = 8, dim: int = 128, causal: bool = False
) -> Any:
    """Q, K, V, Out (1, heads, length, dim), float16. ``length`` is a multiple of the blocks; causal: query i sees the
    keys up to i."""
    scale = dim**-0.5
    shape = (1, heads, length, dim)

    @T.prim_func
    def attention_kernel(
        Q: T.Tensor(shape, "float16"), K: T.Tensor(shape, "float16"), V: T.Tensor(shape, "float16"),
        Out: T.Tensor(shape, "float16"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(length, block_m), heads, threads=128) as (bx, by):
            q = T.alloc_shared((block_m, dim), "float16")
            k, v = T.alloc_shared((block_n, dim), "float16"), T.alloc_shared((block_n, dim), "float16")
            scores, weights = (
                T.alloc_fragment((block_m, block_n), "float32"),
                T.alloc_fragment((block_m, block_n), "float16"),
            )
            out = T.alloc_fragment((block_m, dim), "float32")
            most, before = T.alloc_fragment((block_m,), "float32"), T.alloc_fragment((block_m,), "float32")
            rescale, total, part = (T.alloc_fragment((block_m,), "float32") for _ in range(3))
            T.copy(Q[0, by, bx * block_m : (bx + 1) * block_m, :], q)
            T.clear(out)
            T.clear(total)
            T.fill(most, -T.infinity("float32"))
            last = T.ceildiv((bx + 1) * block_m, block_n) if causal else T.ceildiv(length, block_n)
            for step in T.Pipelined(last, num_stages=stages):
                T.copy(K[0, by, step * block_n : (step + 1) * block_n, :], k)
                T.copy(V[0, by, step * block_n : (step + 1) * block_n, :], v)
                if causal:
                    for i, j in T.Parallel(block_m, block_n):
                        seen = bx * block_m + i >= step * block_n + j
                        scores[i, j] = T.if_then_else(seen, 0, -T.infinity("float32"))
                    T.gemm(q, k, scores, transpose_B=True)
                else:
                    T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                T.copy(most, before)
                T.reduce_max(scores, most, dim=1, clear=False)
                for i in T.Parallel(block_m):
                    rescale[i] = T.exp((before[i] - most[i]) * scale)
                for i, j in T.Parallel(block_m, block_n):
                    scores[i, j] = T.exp((scores[i, j] - most[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block_m):
                    total[i] = total[i] * rescale[i] + part[i]
                for i, j in T.Parallel(block_m, dim):
                    out[i, j] *= rescale[i]
                T.copy(scores, weights)
                T.gemm(weights, v, out)
            for i, j in T.Parallel(block_m, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[0, by, bx * block_m : (bx + 1) * block_m, :])

    return attention_kernel
