"""Blocks that the cpu target proposes: they cover the product, leave no thread idle, and compile."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore
from tilecore import heuristics
from tilecore.backends.cpu.blocks import Processor, attention_blocks, gemm_blocks
from tilecore.demo import kernels

INTEL = Processor(threads=1, is_intel=True, has_tiles=True, operations=64)
OTHERS = [
    INTEL,
    INTEL._replace(threads=2),
    INTEL._replace(threads=64, has_tiles=False),
    Processor(threads=8, is_intel=False, has_tiles=False, operations=32),
]
sizes = st.one_of(st.integers(1, 5000), st.integers(1, 10**7))


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(OTHERS), sizes, sizes, sizes, st.sampled_from(["float32", "float16", "bfloat16", "int8"]),
    st.sampled_from(["NN", "NT", "TN"]),
)  # fmt: skip
def test_every_product_gets_blocks(processor, M, N, K, dtype, layout):
    proposals = gemm_blocks(processor, M, N, K, dtype, layout)
    assert proposals
    assert len({(p.block_M, p.block_N, p.block_K) for p in proposals}) == len(proposals)
    assert [p.seconds for p in proposals] == sorted(p.seconds for p in proposals)
    for p in proposals:
        assert 1 <= p.block_M <= min(M, 2048)
        assert 1 <= p.block_N <= max(N, 1)
        assert 1 <= p.block_K <= K + 63
        assert p.seconds > 0
        assert p.reason


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("size", [512, 1024, 2048])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_every_thread_has_a_block(threads, size, dtype):
    best = gemm_blocks(INTEL._replace(threads=threads), size, size, size, dtype, "NN")[0]
    assert -(-size // best.block_M) * -(-size // best.block_N) >= threads


def test_blocks_that_cross_no_edge_where_there_are_such():
    """Products read and write tensors in place then."""
    for size in (1000, 1024, 960):
        best = gemm_blocks(INTEL, size, size, size, "float32", "NN")[0]
        assert size % best.block_M == size % best.block_N == 0
    assert gemm_blocks(INTEL, 1024, 1024, 1024, "bfloat16", "NN")[0][:3] == (1024, 512, 1024)


def test_steps_of_tile_registers():
    """Fewer elements along K than a step are filled up with zeros, so that the instructions apply; not elsewhere."""
    assert gemm_blocks(INTEL, 100, 100, 13, "bfloat16", "NN")[0].block_K == 32
    assert gemm_blocks(INTEL, 100, 100, 63, "int8", "NT")[0].block_K == 64
    assert gemm_blocks(INTEL, 100, 100, 70, "bfloat16", "NN")[0].block_K == 70
    assert gemm_blocks(INTEL, 100, 100, 13, "bfloat16", "TN")[0].block_K == 13
    assert gemm_blocks(INTEL._replace(has_tiles=False), 100, 100, 13, "bfloat16", "NN")[0].block_K == 13


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("queries", [1, 7, 64, 500])
def test_attention(is_causal, queries):
    for proposal in attention_blocks(INTEL, 8, queries, queries, is_causal):
        assert 1 <= proposal.block_M <= queries
        assert proposal.seconds > 0
    assert attention_blocks(INTEL, 8, 512, 512, is_causal)[0][:2] == (64, 64 if is_causal else 128)


@pytest.mark.parametrize("shape", [(5, 40, 70), (60, 100, 33), (130, 64, 200), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_they_compute_the_product(shape, dtype):
    rng = np.random.default_rng(0)
    M, N, K = shape
    kind = tilecore.dtype(dtype).as_numpy()
    a, b = (rng.integers(-3, 4, size).astype(kind) for size in ((M, K), (K, N)))
    c = np.zeros((M, N), kind)
    for proposal in heuristics.gemm(M, N, K, dtype, target="cpu"):
        blocks = [proposal.config[name] for name in ("block_M", "block_N", "block_K")]
        tilecore.compile(kernels.matmul.func(M, N, K, *blocks, dtype=dtype), target="cpu")(a, b, c)
        expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(kind)
        np.testing.assert_array_equal(c.astype(np.float64), expected.astype(np.float64))
