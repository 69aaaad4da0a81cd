"""Panels of persistent blocks that add to memory are as wide as the cache holds."""

from __future__ import annotations

from typing import Any

import pytest
from tile_cuda.lowering.hopper import cached_panels
from tile_cuda.lowering.hopper.cached_panels import is_left_to_device, most_in_panel
from tile_cuda.lowering.hopper.even_turns import USUAL, choose_turns

import tilecore.language as T

from .kit import as_interpreted, body, built, rows, small

MIB = 1 << 20


def triangle(tiles: int, heads: int, adds: bool = True, group: int = 1, length: Any = None) -> Any:
    """S[h, j] is the sum of A[h, j] @ B[h, i] over the tiles i up to tiles - j: the first blocks have the most work."""
    length = tiles * 64 if length is None else length

    @T.prim_func
    def triangle_kernel(
        A: T.Tensor((heads, length, 64), "float16"), B: T.Tensor((heads * group, length, 64), "float16"),
        S: T.Tensor((heads * group, length, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(tiles, heads, threads=128) as (bx, h):
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A[h, bx * 64, 0], a)
            for member in T.serial(group):
                for k in T.Pipelined(tiles - bx, num_stages=2):
                    T.copy(B[h * group + member, k * 64, 0], b)
                    T.clear(c)
                    T.gemm(a, b, c)
                    if adds:
                        T.atomic_add(S[h * group + member, k * 64 : k * 64 + 64, :], c)
                    else:
                        T.copy(c, S[h * group + member, k * 64, 0])

    return triangle_kernel


def code_of(func: Any) -> Any:
    return func.ir.body


@pytest.mark.parametrize("group", [1, 3])
def test_the_data_of_an_index(group):
    """4096 rows of 64 elements in float16 and in float32: 1.5 MiB are visited by a run of the loop that adds."""
    assert most_in_panel(code_of(triangle(64, 8, group=group)), 8) == 24 // 1.5
    assert most_in_panel(code_of(triangle(256, 8, group=group)), 8) == 24 // 6


def test_no_more_than_one_index_fits():
    assert most_in_panel(code_of(triangle(1 << 12, 2)), 2) == 1


def test_without_additions_there_is_no_limit():
    assert most_in_panel(code_of(triangle(64, 8, adds=False)), 8) is None


def test_sizes_that_are_not_known():
    assert most_in_panel(code_of(triangle(64, 8, length=T.dynamic("length"))), 8) is None


@pytest.mark.parametrize(("rounds", "tiles", "left"), [(16, 32, False), (16, 128, True), (15.9, 128, False)])
def test_many_rounds_of_blocks_whose_data_are_not_cached(rounds, tiles, left):
    most = most_in_panel(code_of(triangle(tiles, 8)), 8)
    assert is_left_to_device(most, rounds, USUAL.panel) == left
    assert not is_left_to_device(most_in_panel(code_of(triangle(tiles, 8, adds=False)), 8), rounds, USUAL.panel)


@pytest.mark.parametrize("widest", [1, 2, 3, 5, 100])
def test_turns_within_the_limit(widest):
    turns = choose_turns(32, 128, 132, widest)
    assert turns.panel <= min(widest, USUAL.panel)
    assert choose_turns(1 << 10, 1 << 10, 132, widest).panel == min(widest, USUAL.panel)


@pytest.mark.parametrize(("tiles", "heads", "order"), [(5, 4, "persistent"), (8, 40, "grid")])
def test_the_order_of_blocks(tiles, heads, order, monkeypatch):
    """12 persistent blocks: 20 blocks of the grid are two rounds, 320 are 27."""
    monkeypatch.setattr(cached_panels, "CACHED_BYTES", 1)
    kernel = built(triangle(tiles, heads))
    assert ("wave" in body(kernel)) == (order == "persistent")
    (blocks,) = rows(kernel, "blocks")
    assert ("more memory than is cached" in blocks["order"]) == (order == "grid")
    shape = (heads, tiles * 64, 64)
    inputs = [small("float16", shape, seed, most=1) for seed in (0, 1)]
    as_interpreted(triangle(tiles, heads), kernel, *inputs, small("float32", shape, 2))
