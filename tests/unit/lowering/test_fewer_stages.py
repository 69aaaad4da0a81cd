"""fewer_stages: pipelines give way to memory that the compiler adds, and not to what the user asks for."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.compiler import CompileOptions, lower
from tilecore.errors import LimitError
from tilecore.plugins import manager

TARGET = "cuda -arch=sm_90a"  # a block has 232448 bytes


def kernel_of(rows: int, in_registers: bool):
    """A pipeline of three stages of ``rows`` x 128 float32; a fragment of 64 KiB, whose reads fit no layout or do."""

    @T.prim_func
    def kernel(X: T.Tensor((8, rows, 128), "float32"), Y: T.Tensor((128, 128), "float32")):
        with T.Kernel(1, threads=128):
            tile, sums = T.alloc_shared((rows, 128), "float32"), T.alloc_fragment((128, 128), "float32")
            T.clear(sums)
            for k in T.Pipelined(8, num_stages=3):
                T.copy(X[k, 0, 0], tile)
                for i, j in T.Parallel(128, 128):
                    sums[i, j] += tile[i % rows, j]
                for i, j in T.Parallel(128, 128):
                    Y[i, j] = sums[i, j] if in_registers else sums[i * 5 % 128, j]

    return kernel


def report_of(kernel):
    backend, target = manager.resolve(TARGET)
    return lower(kernel.ir, backend, target, CompileOptions())[1].report


def test_stages_give_way_to_a_fragment_in_shared_memory():
    report = report_of(kernel_of(128, in_registers=False))
    assert [(row["tiles"], row["stages"], row["fewer"]) for row in report["fewer_stages"]] == [("tile", 3, 2)]
    assert [row["stages"] for row in report["pipelines"]] == [2]
    assert report["shared_memory"][0]["bytes"] <= 232448


def test_what_fits_keeps_its_stages():
    for kernel in (kernel_of(128, in_registers=True), kernel_of(64, in_registers=False)):
        report = report_of(kernel)
        assert "fewer_stages" not in report
        assert [row["stages"] for row in report["pipelines"]] == [3]


def test_tiles_that_are_too_large_by_themselves_are_refused():
    with pytest.raises(LimitError, match="num_stages=") as caught:
        report_of(kernel_of(192, in_registers=False))
    assert "tile 294912" in caught.value.found
