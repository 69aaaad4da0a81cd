"""What the compiler chooses by sizes: persistent blocks and their order, slots, shared memory that is used twice."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import CONFIGS, as_interpreted, body, built, chosen, rows, small, wide
from .test_fuse_staged_stores import right, staged

ONE = "cuda -arch=sm_90a -multiprocessors=1"
MORE = {CONFIGS.TL_DISABLE_MORE_STAGES: False}


def orders(kernel):
    return [row["order"] for row in rows(kernel, "blocks")]


def notes(kernel):
    return [row["text"] for row in rows(kernel, "notes")]


def test_blocks_that_run_at_the_same_time_are_not_persistent():
    """Their slots are released as early as possible; other kernels release them an iteration later."""
    few, many = (built(staged(64, n, 256, stages=3), target=ONE) for n in (64, 1024))
    for kernel, n in ((few, 64), (many, 1024)):
        right(kernel, 64, n, 256)
    assert orders(few)[0] == "as the grid says, all at the same time"
    assert "persistent blocks" in orders(many)[0]
    assert ["declined" in row for row in rows(few, "overlaps") + rows(many, "overlaps")] == [True, False]


def test_slots_beyond_num_stages_where_shared_memory_has_room():
    kernel = built(staged(64, 256, 256, stages=2), configs=MORE)
    right(kernel, 64, 256, 256)
    (pipeline,) = rows(kernel, "pipelines")
    assert pipeline["stages"] > 2
    assert f"{pipeline['stages'] - 2} more than the loop asks for" in pipeline["filled"]
    short = built(staged(64, 256, 96, stages=2), configs=MORE)
    right(short, 64, 256, 96)
    assert rows(short, "pipelines")[0]["stages"] == 3, "as many as the loop has iterations"


@pytest.mark.parametrize(
    ("tile", "stages", "kind", "out", "store"),
    [
        ((128, 256, 64), 3, "disabled", "float32", "loops"),
        ((128, 256, 64), 3, "plain", "float32", "tensor store"),
        ((128, 128, 64), 7, "plain", "float16", "tensor store"),
    ],
)
def test_results_use_the_memory_of_the_loop_where_both_do_not_fit(tile, stages, kind, out, store):
    """A tile of C, or the slabs of tensor stores, take the place of tiles that all products have read."""
    kernel = built(staged(200, 320, 200, kind, tile, out, threads=256, stages=stages))
    right(kernel, 200, 320, 200, out)
    assert chosen(kernel, "copy")[-1] == store
    fits = tile == (128, 256, 64) and kind == "plain"
    assert ("would need" in orders(kernel)[0]) != fits


def triangle(q=320, BM=64, BN=64, heads=3):
    """Each tile of Out [heads, q, BN] = Q's tile times the sum of the tiles of K up to the block's own."""

    @T.prim_func
    def triangle_kernel(
        Q: T.Tensor((heads, q, 32), "float16"), K: T.Tensor((heads, 32, q), "float16"),
        Out: T.Tensor((heads, q, BN), "float16"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(q, BM), heads, threads=128) as (bx, head):
            queries = T.alloc_shared((BM, 32), "float16")
            keys = T.alloc_shared((32, BN), "float16")
            out = T.alloc_fragment((BM, BN), "float32")
            T.copy(Q[head, bx * BM, 0], queries)
            T.clear(out)
            for k in T.Pipelined(T.ceildiv((bx + 1) * BM, BN), num_stages=2):
                T.copy(K[head, 0, k * BN], keys)
                T.gemm(queries, keys, out)
            T.copy(out, Out[head, bx * BM, 0])

    return triangle_kernel


def test_the_longest_blocks_are_first_and_queries_in_registers():
    func = triangle()
    kernel = built(func, target=ONE)
    as_interpreted(
        func, kernel, small("float16", (3, 320, 32), 0, 1), small("float16", (3, 32, 320), 1, 1),
        np.zeros((3, 320, 64), np.float16),
    )  # fmt: skip
    assert orders(kernel)[0].endswith("those with the most work along bx first")
    assert "queries is read into registers once, as the loop multiplies it in every iteration" in notes(kernel)


def of_each_block(rows=320, steps=3, blocks=5):
    """Out [rows, blocks * 64]: a block's tile of W, which it loads once, times the sum of tiles of X."""

    @T.prim_func
    def kernel(
        X: T.Tensor((rows, steps * 32), "float16"), W: T.Tensor((32, blocks * 64), "float16"),
        Out: T.Tensor((rows, blocks * 64), "float16"),
    ):  # fmt: skip
        with T.Kernel(blocks, T.ceildiv(rows, 64), threads=128) as (bx, by):
            x, w = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
            out = T.alloc_fragment((64, 64), "float32")
            T.copy(W[0, bx * 64], w)
            T.clear(out)
            for k in T.Pipelined(steps, num_stages=2):
                T.copy(X[by * 64, k * 32], x)
                T.gemm(x, w, out)
            T.copy(out, Out[by * 64, bx * 64])

    return kernel


@pytest.mark.parametrize("sizes", [(320, 3, 5), (64, 1, 4), (100, 2, 3), (64, 5, 1)])
@pytest.mark.parametrize("more", [False, True])
def test_a_second_slot_for_what_each_block_loads_once(sizes, more):
    """So that the loads of the next block do not wait until the products of this one have read it."""
    func = of_each_block(*sizes)
    kernel = built(func, target=ONE, configs=MORE if more else {})
    slots = {row["tiles"]: row["stages"] for row in rows(kernel, "pipelines")}
    is_persistent = "persistent blocks" in orders(kernel)[0]
    assert slots["w"] == (2 if more and is_persistent else 1)
    height, steps, blocks = sizes
    x, w = small("float16", (height, steps * 32), 0, 1), small("float16", (32, blocks * 64), 1, 1)
    as_interpreted(func, kernel, x, w, np.zeros((height, blocks * 64), np.float16))


def attention(q=128, n=128, dim=32):
    @T.prim_func
    def attention_kernel(
        Q: T.Tensor((q, dim), "float16"), K: T.Tensor((n, dim), "float16"), Out: T.Tensor((q, 1), "float32")
    ):
        with T.Kernel(q // 64, threads=128) as bx:
            queries = T.alloc_shared((64, dim), "float16")
            keys = T.alloc_shared((64, dim), "float16")
            scores = T.alloc_fragment((64, 64), "float32")
            largest = T.alloc_fragment((64,), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.copy(Q[bx * 64, 0], queries)
            T.copy(K, keys)
            T.gemm(queries, keys, scores, transpose_B=True, clear_accum=True)
            T.reduce_max(scores, largest, dim=1)
            for i, j in T.Parallel(64, 64):
                scores[i, j] = T.exp2(scores[i, j] * 0.3 - largest[i] * 0.3)
            T.reduce_sum(scores, total, dim=1)
            for i, j in T.Parallel(64, 64):
                scores[i, j] /= total[i]
            T.reduce_max(scores, largest, dim=1)
            for i in T.Parallel(64):
                Out[bx * 64 + i, 0] = largest[i]

    return attention_kernel


def test_fast_math_fuses_two_products_and_divides_by_a_reciprocal():
    exact, fast = (built(attention(n=64), configs=c) for c in ({}, {CONFIGS.TL_ENABLE_FAST_MATH: True}))
    queries, keys = small("float16", (128, 32), 0), small("float16", (64, 32), 1)
    scores = wide(queries) @ wide(keys).T * 0.3
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    for kernel, is_fast in ((exact, False), (fast, True)):
        out = np.zeros((128, 1), np.float32)
        kernel(queries, keys, out)
        np.testing.assert_allclose(out[:, 0], (weights / weights.sum(1, keepdims=True)).max(1), rtol=1e-5)
        assert ("tc_fma(" in body(kernel)) == is_fast
        assert ("tc_quotient" in body(kernel)) != is_fast
