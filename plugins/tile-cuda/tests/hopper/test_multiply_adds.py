"""Products of float32 by multiply-adds, whose tiles a producer warp loads: results, roles, the compiled loop."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .kernels import matmul, operands, product
from .kit import body, built, chosen, has_roles, refusals, rows, wide
from .test_compiled import compiled, compiler  # noqa: F401 (a fixture)

SINGLE = ("float32", "float32", "float32")
FOUR_BLOCKS = "cuda -arch=sm_90a -multiprocessors=4"


def checked(sizes, **options):
    """The kernel, after its result has been compared with numpy's."""
    target = options.pop("target", "cuda -arch=sm_90a -multiprocessors=3")
    ta, tb = options.get("ta", False), options.get("tb", False)
    kernel = built(matmul(*sizes, kinds=SINGLE, **options), target=target)
    a, b = operands(sizes, SINGLE, ta, tb)
    c = np.full(sizes[:2], np.nan, np.float32)
    kernel(a, b, c)
    np.testing.assert_array_equal(wide(c), product(a, b, ta, tb))
    return kernel


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_producer_warp_loads_the_tiles(ta, tb):
    kernel = checked((132, 68, 100), tile=(64, 64, 32), ta=ta, tb=tb)
    assert has_roles(kernel)
    assert chosen(kernel, "gemm") == ["multiply-adds"]


@settings(deadline=None, max_examples=12)
@given(
    sizes=st.tuples(st.integers(1, 140), st.integers(1, 140), st.integers(1, 100)),
    tile=st.sampled_from([(64, 64, 32), (32, 128, 16), (128, 32, 8), (64, 96, 32)]),
    ta=st.booleans(),
    tb=st.booleans(),
    aligned=st.booleans(),
)
def test_any_sizes(sizes, tile, ta, tb, aligned):
    """Rows that are no multiples of 16 bytes are loaded by threads."""
    sizes = tuple(-(-size // 4) * 4 for size in sizes) if aligned else sizes
    kernel = checked(sizes, tile=tile, ta=ta, tb=tb)
    assert has_roles(kernel) or not aligned, refusals(kernel)


def test_few_blocks_share_their_loops():
    kernel = checked((128, 64, 512), tile=(64, 64, 32), threads=128, target=FOUR_BLOCKS)
    assert any(row.get("order", "").startswith("in clusters of 2") for row in rows(kernel, "blocks"))


@pytest.mark.rotated
@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False)])
def test_the_compiled_loop(compiler, ta, tb):  # noqa: F811
    """128 x 128 by 256 threads: no spills, and every load of operands takes 16 bytes."""
    options = {"tile": (128, 128, 32), "kinds": SINGLE, "threads": 256, "stages": 4, "ta": ta, "tb": tb}
    kernel = built(matmul(4096, 4096, 4096, **options), target="cuda -arch=sm_90a")
    log = compiled(compiler, kernel)
    assert "0 bytes spill stores, 0 bytes spill loads" in log
    loads = re.findall(r"tc_move<(\d+)>\(([ab])\w* \+", body(kernel))
    assert loads == [("16", "a"), ("16", "b")]
