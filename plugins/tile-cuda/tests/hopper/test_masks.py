"""Masks that matter in some iterations of a loop only: the others run without them."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import as_interpreted, body, built, rows, small

SPLIT = "loop k: iterations whose tiles are not masked are a loop of their own"
CONDITIONS = {
    "causal": lambda q, k, n, shift: q >= k,
    "reversed": lambda q, k, n, shift: k < q,
    "shifted": lambda q, k, n, shift: q + 70 > k,
    "tail": lambda q, k, n, shift: k >= n,
    "window": lambda q, k, n, shift: k + 40 >= q,
    "of the call": lambda q, k, n, shift: q + shift > k,
    "square": lambda q, k, n, shift: q * q >= k,
}


def masked(condition, q=128, n=200, BM=64, BN=32, stages=2):
    """Out [q, 32] = the sum of all (mask + Q K^T) V, tile by tile. The mask is the start of the first product.

    shift: an argument that one condition adds to a row.
    """
    where = CONDITIONS[condition]

    @T.prim_func
    def masked_kernel(
        Q: T.Tensor((q, 32), "float16"), K: T.Tensor((n, 32), "float16"), V: T.Tensor((n, 32), "float16"),
        Out: T.Tensor((q, 32), "float32"), shift: T.int32,
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(q, BM), threads=128) as bx:
            q_shared = T.alloc_shared((BM, 32), "float16")
            k_shared = T.alloc_shared((BN, 32), "float16")
            v_shared = T.alloc_shared((BN, 32), "float16")
            scores = T.alloc_fragment((BM, BN), "float32")
            weights = T.alloc_fragment((BM, BN), "float16")
            out = T.alloc_fragment((BM, 32), "float32")
            T.copy(Q[bx * BM, 0], q_shared)
            T.clear(out)
            for k in T.Pipelined(T.ceildiv(n, BN), num_stages=stages):
                T.copy(K[k * BN, 0], k_shared)
                for i, j in T.Parallel(BM, BN):
                    scores[i, j] = T.if_then_else(where(bx * BM + i, k * BN + j, n, shift), 0, -9)
                T.gemm(q_shared, k_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(scores, weights)
                T.copy(V[k * BN, 0], v_shared)
                T.gemm(weights, v_shared, out, policy=T.GemmWarpPolicy.FullRow)
            T.copy(out, Out[bx * BM, 0])

    return masked_kernel


@pytest.mark.parametrize(
    ("condition", "is_split"),
    [("causal", True), ("reversed", True), ("shifted", True), ("tail", True), ("window", False), ("square", False)],
)
def test_results_are_as_before(condition, is_split):
    """Where the mask is the same for whole tiles up to some iteration, the loop is split there."""
    func = masked(condition)
    kernel = built(func)
    args = [small("float16", shape, seed, 1) for seed, shape in enumerate([(128, 32), (200, 32), (200, 32)])]
    as_interpreted(func, kernel, *args, np.zeros((128, 32), np.float32), 0)
    assert (SPLIT in [row["text"] for row in rows(kernel, "notes")]) == is_split


def test_sums_that_wrap():
    """A sum with an argument is split at, too, but not where the sum leaves int32, as it then is a small number."""
    func = masked("of the call")
    kernel = built(func)
    assert SPLIT in [row["text"] for row in rows(kernel, "notes")]
    args = [small("float16", shape, seed, 1) for seed, shape in enumerate([(128, 32), (200, 32), (200, 32)])]
    for shift in (70, -64, 2**31 - 100, -(2**31) + 5):
        as_interpreted(func, kernel, *args, np.zeros((128, 32), np.float32), shift)


@pytest.mark.parametrize("factor", [30_000_000, 7])
def test_differences_that_wrap(factor):
    """Both sides of the comparison are int32, their difference is not."""

    @T.prim_func
    def compare(Out: T.Tensor((64, 32), "int32"), shift: T.int32):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(64, 32):
                Out[i, j] = T.if_then_else(i * factor + shift >= j * (-2 * factor) + 100, 1, 0)

    i, j = np.arange(64, dtype=np.int64)[:, None], np.arange(32, dtype=np.int64)[None]
    out = np.zeros((64, 32), np.int32)
    built(compare)(out, 0)
    np.testing.assert_array_equal(out, i * factor >= j * (-2 * factor) + 100)


def test_a_mask_that_never_matters_is_part_of_the_first_product():
    kernel = built(masked("tail", n=192))
    assert "?" not in body(kernel)
    assert "0.0f : " not in body(kernel)
    assert SPLIT not in [row["text"] for row in rows(kernel, "notes")]
