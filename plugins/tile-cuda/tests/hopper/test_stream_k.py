"""Blocks that take several tiles by a loop of their own, the last in parts along K (stream_k of examples/gemm.py)."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from .kernels import operands, product
from .kit import body, built, has_roles, rows, wide
from .test_compiled import compiled, compiler, runs_free  # noqa: F401

EXAMPLES = Path(__file__).parents[4] / "examples"
TILE = {"block_M": 64, "block_N": 64, "block_K": 32, "stages": 3, "threads": 128}
FULL = "cuda -arch=sm_90a"  # all multiprocessors: as many blocks as the tests ask for run at the same time


def gemm(*sizes, **options):
    spec = importlib.util.spec_from_file_location("stream_k_gemm", EXAMPLES / "gemm.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.gemm(*sizes, **{**TILE, **options})


def checked(sizes, stream_k, target=FULL, **options):
    kinds = ("float16", "float16", "float32")
    kernel = built(gemm(*sizes, stream_k=stream_k, **options), target=target)
    a, b = operands(sizes, kinds, most=1)
    c = np.full(sizes[:2], 77, np.float16)
    kernel(a, b, c)
    np.testing.assert_array_equal(wide(c), product(a, b))
    return kernel


@pytest.mark.parametrize(
    ("sizes", "stream_k", "kernels"),
    [
        ((150, 200, 504), 5, 2),  # 2 rounds of 5, and 2 of 12 tiles
        ((40, 136, 1000), 7, 2),  # fewer tiles than blocks
        ((10, 8, 800), 132, 2),  # one tile, in parts of 4 steps
        ((128, 128, 320), 4, 1),  # whole rounds
        ((150, 200, 32), 5, 1),  # nothing to divide along K
        ((330, 72, 136), 7, 2),  # 12 tiles, blocks with the ends of two of them, and some with nothing
    ],
)
def test_results(sizes, stream_k, kernels):
    kernel = checked(sizes, stream_k)
    assert has_roles(kernel)
    assert len(kernel.artifact.entries) == kernels


@pytest.mark.parametrize("panel", [0, 2, 8])
def test_the_order_of_tiles(panel):
    checked((330, 136, 160), 4, panel=panel)


def test_more_blocks_than_multiprocessors():
    """The compiler's own persistent blocks then take the blocks that the kernel asks for."""
    checked((150, 200, 504), 5, target="cuda -arch=sm_90a -multiprocessors=1", block_M=128, block_N=128, block_K=64)


def main_loop(source):
    """The loop of products over the steps of a whole tile, without the numbers in names."""
    loop = re.search(r"for \(int step\w* = 1;.*?(?=tc_warpgroup_wait<0>)", source, re.DOTALL).group(0)
    return [re.sub(r"  // .*|_\d+\b", "", line).strip() for line in loop.splitlines()]


def test_the_loop_of_whole_tiles_is_that_of_the_plain_kernel():
    """Slots are released a step late, as by the compiler's own persistent blocks."""
    sizes, target = (1024, 1024, 512), "cuda -arch=sm_90a -multiprocessors=6"
    tile = {"block_M": 128, "block_N": 128, "block_K": 64, "stages": 4, "threads": 256}
    plain, streamed = (built(gemm(*sizes, stream_k=n, **tile), target=target) for n in (0, 6))
    assert main_loop(body(streamed)) == main_loop(body(plain))
    assert any("tc_warpgroup_wait<1>" in line for line in main_loop(body(streamed)))
    loops = [row for row in rows(streamed, "overlaps") if str(row["loop"]).startswith("step")]
    assert [row.get("products") for row in loops] == [0, 0], "that of the parts, too"


def test_a_block_with_one_tile_releases_slots_early():
    reasons = {row.get("declined") for row in rows(built(gemm(128, 128, 512), target=FULL), "overlaps")}
    assert any(reason and "all blocks run at once" in reason for reason in reasons)


@pytest.mark.rotated
@pytest.mark.parametrize("tile", [(128, 256, 4, 256), (256, 128, 4, 256), (192, 192, 4, 384), (192, 128, 4, 384)])
def test_compiled(compiler, tile):  # noqa: F811
    m, n, stages, threads = tile
    func = gemm(4096, 4096, 4096, block_M=m, block_N=n, block_K=64, stages=stages, threads=threads, stream_k=132)
    runs_free(compiled(compiler, built(func, target=FULL)))
