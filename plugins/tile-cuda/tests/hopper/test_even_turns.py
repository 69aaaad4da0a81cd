"""Persistent blocks with tiles of different work: the order in which they take them, each of them once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_cuda.lowering.hopper import even_turns
from tile_cuda.lowering.hopper.even_turns import USUAL, Turns, busiest, choose_turns

import tilecore.language as T

from .kit import as_interpreted, built, small


def mean(steps, others, blocks):
    return others * sum(n + even_turns.ENDS for n in range(1, steps + 1)) / blocks


@pytest.mark.parametrize(
    ("steps", "others", "most"), [(32, 128, 1.01), (64, 64, 1.03), (128, 32, 1.01), (16, 256, 1.02), (8, 64, 1.04)]
)
def test_the_busiest_of_132_blocks(steps, others, most):
    """Causal attention, 128 queries a tile: the usual order gives one block 3 to 9 % more than the mean."""
    turns = choose_turns(steps, others, 132)
    assert busiest(turns, steps, others, 132) <= most * mean(steps, others, 132)
    assert busiest(USUAL, steps, others, 132) >= 1.03 * mean(steps, others, 132)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 60), st.integers(1, 140))
def test_never_worse_than_the_usual_order(steps, others, blocks):
    turns = choose_turns(steps, others, blocks)
    assert busiest(turns, steps, others, blocks) <= busiest(USUAL, steps, others, blocks)
    assert turns == USUAL or turns.panel <= others


def test_large_grids_are_not_counted():
    assert choose_turns(1 << 10, 1 << 10, 132) == USUAL


def triangle(rows, heads):
    """C[h, i] is the sum of A[h, i] @ B[h, j] over the tiles j up to i: blocks have 1 to ``rows`` iterations."""

    @T.prim_func
    def triangle_kernel(
        A: T.Tensor((heads, rows * 64, 64), "float16"), B: T.Tensor((heads, rows * 64, 64), "float16"),
        C: T.Tensor((heads, rows * 64, 64), "float16"),
    ):  # fmt: skip
        with T.Kernel(rows, heads, threads=128) as (bx, h):
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A[h, bx * 64, 0], a)
            T.clear(c)
            for k in T.Pipelined(bx + 1, num_stages=2):
                T.copy(B[h, k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[h, bx * 64, 0])

    return triangle_kernel


@pytest.mark.parametrize(
    ("turns", "heads"),
    [(Turns(2, False, 0), 5), (Turns(3, True, 2), 7), (Turns(1, False, 1), 4), (Turns(4, True, 0), 6)],
)  # heads differ, as the cache of kernels knows nothing of what is replaced here
def test_each_tile_is_taken_once(turns, heads, monkeypatch):
    """5 tiles of each head by 12 blocks: panels that do not divide the heads, and rounds that are not whole."""
    asked = []
    replaced = "tile_cuda.lowering.hopper.persistent_blocks.choose_turns"
    monkeypatch.setattr(replaced, lambda *sizes: asked.append(sizes) or turns)
    kernel = built(triangle(5, heads))
    assert asked == [(5, heads, 12, None)]  # four blocks on each of three multiprocessors
    inputs = [small("float16", (heads, 320, 64), seed, most=1) for seed in (0, 1)]
    out = np.full((heads, 320, 64), 77, np.float16)
    as_interpreted(triangle(5, heads), kernel, *inputs, out)
