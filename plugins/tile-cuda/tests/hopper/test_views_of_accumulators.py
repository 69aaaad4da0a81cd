"""Accumulators of wgmma with views: they stay in registers, and no clear moves past a statement that uses a view."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.compiler import CompileOptions, lower
from tilecore.plugins import manager


def indexer(heads: int):
    """The scores of keys for queries, summed by heads."""
    queries = 128 // heads

    @T.prim_func
    def kernel(
        K: T.Tensor((1024, 64), "float16"), Q: T.Tensor((128, 64), "float16"), Y: T.Tensor((1024, queries), "float32")
    ):
        with T.Kernel(1, threads=128):
            q, k = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 64), "float16")
            scores, logits = T.alloc_fragment((64, 128), "float32"), T.alloc_fragment((64, queries), "float32")
            by_head = T.reshape(scores, (64, queries, heads))
            T.copy(Q, q)
            for n in T.Pipelined(16, num_stages=2):
                T.copy(K[n * 64, 0], k)
                T.clear(scores)
                T.gemm(k, q, scores, transpose_B=True)
                for i, a, h in T.Parallel(64, queries, heads):
                    by_head[i, a, h] = T.max(by_head[i, a, h], 0)
                T.reduce_sum(by_head, logits, dim=-1)
                T.copy(logits, Y[n * 64, 0])

    return kernel


def lowered(kernel):
    backend, target = manager.resolve("cuda -arch=sm_90a")
    return lower(kernel.ir, backend, target, CompileOptions())


def test_the_accumulator_stays_in_registers():
    for heads in (32, 64):
        report = lowered(indexer(heads))[1].report
        assert {row["implementation"] for row in report["tile_ops"] if row["op"] == "gemm"} == {"wgmma"}
        layouts = {row["buffer"]: row["layout"] for row in report["layouts"]}
        assert "shared memory" not in layouts["scores"] + layouts["by_head"] + layouts["logits"]
        assert {row["declined"] for row in report["overlaps"]} == {"by_head is or has a view"}


@pytest.mark.parametrize("is_viewed", [False, True])
def test_a_clear_stays_in_front_of_a_loop_that_uses_the_view(is_viewed):
    """Without a view, the product overwrites its accumulator instead of the clear."""

    @T.prim_func
    def kernel(K: T.Tensor((1024, 64), "float16"), Y: T.Tensor((1024, 64), "float32")):
        with T.Kernel(1, threads=128):
            k, scores = T.alloc_shared((64, 64), "float16"), T.alloc_fragment((64, 64), "float32")
            flat = T.reshape(scores, (4096,)) if is_viewed else scores
            for n in T.Pipelined(16, num_stages=2):
                T.copy(K[n * 64, 0], k)
                T.clear(scores)
                if is_viewed:
                    for i in T.Parallel(4096):
                        flat[i] += 1
                T.gemm(k, k, scores, transpose_B=True)
                T.copy(scores, Y[n * 64, 0])

    code = str(lowered(kernel)[0])
    assert ("= T.float32(0.0)" in code) == is_viewed
