"""Attention by simdgroup matrices: right on the simulated device, and its weights stay in registers."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import tilecore
import tilecore.language as T

LOG2E = 1.4426950408889634


def attention(length, dim, block_m, block_n, threads, dtype):
    """Q, K, V, Out [length, dim] of one head, by an online softmax."""

    @T.prim_func
    def kernel(
        Q: T.Tensor((length, dim), dtype), K: T.Tensor((length, dim), dtype), V: T.Tensor((length, dim), dtype),
        Out: T.Tensor((length, dim), "float32"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(length, block_m), threads=threads) as bx:
            q, k = T.alloc_shared((block_m, dim), dtype), T.alloc_shared((block_n, dim), dtype)
            v = T.alloc_shared((block_n, dim), dtype)
            scores = T.alloc_fragment((block_m, block_n), "float32")
            weights = T.alloc_fragment((block_m, block_n), dtype)
            out = T.alloc_fragment((block_m, dim), "float32")
            largest, before = T.alloc_fragment((block_m,), "float32"), T.alloc_fragment((block_m,), "float32")
            rescale, total = T.alloc_fragment((block_m,), "float32"), T.alloc_fragment((block_m,), "float32")
            tile_total = T.alloc_fragment((block_m,), "float32")
            T.copy(Q[bx * block_m, 0], q)
            T.clear(out)
            T.clear(total)
            T.fill(largest, T.min_value("float32"))
            for tile in T.Pipelined(T.ceildiv(length, block_n), num_stages=2):
                T.copy(K[tile * block_n, 0], k)
                T.copy(V[tile * block_n, 0], v)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(block_m, block_n):
                    seen = tile * block_n + j <= bx * block_m + i
                    scores[i, j] = T.if_then_else(seen, scores[i, j] * (LOG2E / dim**0.5), -T.infinity("float32"))
                T.copy(largest, before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block_m):
                    rescale[i] = T.exp2(before[i] - largest[i])
                for i, j in T.Parallel(block_m, block_n):
                    scores[i, j] = T.exp2(scores[i, j] - largest[i])
                T.reduce_sum(scores, tile_total, dim=1)
                for i in T.Parallel(block_m):
                    total[i] = total[i] * rescale[i] + tile_total[i]
                for i, j in T.Parallel(block_m, dim):
                    out[i, j] *= rescale[i]
                T.copy(scores, weights)
                T.gemm(weights, v, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_m, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[bx * block_m, 0])

    return kernel


def expected(q, k, v):
    """Causal attention in float64."""
    scores = q.astype(np.float64) @ k.astype(np.float64).T / q.shape[1] ** 0.5
    scores = np.where(np.tril(np.ones_like(scores, bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)


@pytest.mark.parametrize(
    ("family", "dtype", "block_n"), [("apple7", "float16", 32), ("apple9", "bfloat16", 32), ("apple7", "bfloat16", 24)]
)
def test_causal_attention(family, dtype, block_n):
    length, dim, block_m, threads = 96, 64, 32, 128
    kernel = tilecore.compile(
        attention(length, dim, block_m, block_n, threads, dtype), target=f"metal -family={family}",
        execution_backend="sim",
    )  # fmt: skip
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((length, dim)).astype(getattr(ml_dtypes, dtype, dtype)) for _ in range(3))
    out = np.zeros((length, dim), np.float32)
    kernel(q, k, v, out)
    np.testing.assert_allclose(out, expected(q, k, v), rtol=2e-2, atol=4e-3 if dtype == "float16" else 2e-2)
    source = kernel.get_kernel_source()
    first, second = (match.start() for match in re.finditer(r"tc_multiply_add\w*<", source))
    between = source[first:second]
    # the maximum of a row, and nothing else, is exchanged: in the four lanes that differ in the bits 0 and 3
    assert re.findall(r"tc_shuffle_xor\(\w+, (\d+)\)", between) == ["1", "8"]
    assert "threadgroup" not in between
    assert re.search(r"tc_multiply_add<\w+(, 1, \d, \d)?>\(out \+ [^,]*, weights \+", source)
    assert not re.search(r"threadgroup \w+\* (scores|weights)\b", source)
