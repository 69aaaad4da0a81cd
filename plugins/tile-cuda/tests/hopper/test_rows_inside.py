"""Tiles with more rows than their tensor: boxes have the rows of the tensor only, and the others are zeros."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tile_cuda.simulated import simulated_adapter

import tilecore.language as T
from tilecore.runtime.launcher import Launcher
from tilecore.simulate.errors import SimulationError

from .kernels import multiplied, operands
from .kit import as_interpreted, body, built, count, small

HALF = "float16"
TILE = {"tile": (64, 64, 64), "out": HALF}
BYTES = ("float8_e4m3fn", "float8_e4m3fn", "float32")


def boxes(kernel, name):
    """The rows of the boxes of a tensor's map."""
    (entry,) = kernel.artifact.entries
    return {m["box"][1] for m in entry.attributes["tensor_maps"] if m["tensor"] == name}


@pytest.mark.parametrize(
    ("sizes", "rows", "form"),
    [
        ((16, 64, 192), 16, {}),
        ((1, 128, 200), 8, {"tile": (64, 128, 64)}),
        ((20, 80, 144), 24, {"tb": True, "tile": (128, 64, 64), "threads": 256}),
        ((56, 64, 128), 56, {"tile": (64, 64, 32)}),
        ((8, 64, 256), 8, {"kinds": BYTES, "tb": True, "out": "float32", "tile": (64, 64, 128)}),
        ((16, 64, 128), 16, {"a_in_registers": True}),
    ],
    ids=str,
)
def test_few_rows_of_a(sizes, rows, form):
    kernel = multiplied(sizes, **{**TILE, **form})
    assert boxes(kernel, "A") == {rows}
    assert "tc_clear_shared" in body(kernel)


def test_few_rows_of_both():
    kernel = multiplied((16, 24, 128), tb=True, **TILE)
    assert (boxes(kernel, "A"), boxes(kernel, "B")) == ({16}, {24})


def test_whole_tiles_where_rows_are_not_few():
    for sizes, form in (((80, 64, 128), {}), ((16, 64, 128), {"ta": True}), ((57, 64, 128), {})):
        kernel = multiplied(sizes, **{**TILE, **form})
        assert boxes(kernel, "A") == {64}
        assert "tc_clear_shared" not in body(kernel)


def test_sizes_of_the_call():
    m = T.dynamic("m")
    kernel = multiplied((16, 64, 128), symbolic=(m, 64, 128), **TILE)
    assert boxes(kernel, "A") == {64}


@T.prim_func
def all_rows(A: T.Tensor((16, 256), HALF), B: T.Tensor((256, 512), HALF), C: T.Tensor((64, 512), "float32")):
    """Stores the rows of the tile beyond A too: they are sums of zeros."""
    with T.Kernel(8, threads=128) as bx:
        a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[0:64, k * 64 : (k + 1) * 64], a)
            T.copy(B[k * 64, bx * 64], b)
            T.gemm(a, b, c)
        T.copy(c, C[0, bx * 64])


def test_other_rows_are_zeros_in_every_block():
    """Eight blocks on three multiprocessors: slots are used again, and their other rows stay zeros."""
    kernel = built(all_rows)
    assert boxes(kernel, "A") == {16}
    assert count(kernel, "tc_clear_shared") == 2
    args = small(HALF, (16, 256), 1), small(HALF, (256, 512), 2), np.ones((64, 512), np.float32)
    as_interpreted(all_rows, kernel, *args)


@pytest.mark.parametrize("missing", ["    tc_fence_async();\n", "    tc_named_barrier(1, 128);\n"])
def test_without_the_fence_or_the_barrier(missing):
    adapter, artifact = simulated_adapter(), built(all_rows).artifact
    head, rest = artifact.source.rsplit("tc_clear_shared", 1)
    assert missing in rest
    planted = dataclasses.replace(artifact, source=head + "tc_clear_shared" + rest.replace(missing, "", 1))
    args = [*operands((16, 512, 256), (HALF, HALF, "float32")), np.zeros((64, 512), np.float32)]
    with pytest.raises(SimulationError) as caught:
        Launcher(planted, adapter.load(planted), adapter, 1)(*args)
    assert caught.value.kind in {"missing_proxy_fence", "race"}, str(caught.value)
