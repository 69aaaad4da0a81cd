"""prefetch_rows: which loops fetch the next row, and where; results stay."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.demo import kernels

INTEL = "cpu -march=sapphirerapids"
DISTANCE = re.compile(r"getelementptr \w+, ptr %X_\d+, i32 %v\d+\s+call void @llvm.prefetch")


def notes(kernel):
    return kernel.artifact.report.get("row prefetches", [])


def softmax(rows, columns, target, block=4, dtype="float32"):
    return tilecore.compile(kernels.softmax.func(rows, columns, block, dtype), target=target)


@pytest.mark.parametrize(("columns", "fetched"), [(64, True), (1024, True), (2048, True), (2064, False), (4096, False)])
def test_short_rows(columns, fetched):
    """Rows over more than two pages gain nothing."""
    kernel = softmax(64, columns, INTEL)
    assert notes(kernel) == ([{"tensors": ["X"]}] if fetched else [])
    assert len(DISTANCE.findall(kernel.get_kernel_source())) == (4 if fetched else 0), (
        "the lines of one iteration, once"
    )


def test_one_prefetch_a_line():
    """A vector of 16 float16 is half a line."""
    source = softmax(64, 1024, INTEL, dtype="float16").get_kernel_source()
    loads = len(re.findall(r"load <16 x half>", source))
    assert loads >= 2 * len(DISTANCE.findall(source)) > 0


def test_other_processors_fetch_rows_themselves():
    for target in ("cpu -march=znver4", "cpu -march=x86-64-v4", "cpu -march=generic"):
        assert notes(softmax(64, 1024, target)) == []


def test_what_is_not_read_row_by_row():
    @T.prim_func
    def columns(X: T.Tensor((64, 1024), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(64) as bx:
            for j in T.Parallel(64):
                Y[bx, j] = X[bx, j]  # the first columns of each row only

    assert notes(tilecore.compile(columns, target=INTEL)) == []


@pytest.mark.parametrize("sizes", [(5, 1024, 4), (64, 1000, 4), (7, 33, 2), (3, 2048, 1)], ids=str)
def test_results_stay(sizes):
    """Behind the last row nothing is read, only fetched."""
    rows, columns, block = sizes
    model = "cpu -model=GenuineIntel-6-207"
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
    y = np.zeros_like(x)
    kernel = softmax(rows, columns, model, block)
    kernel(x, y)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-5)


def test_tensors_are_fetched_in_the_order_of_the_parameters():
    """The text must not depend on addresses of objects: bundles and records compare it."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 1024), "float32"),
        B: T.Tensor((64, 1024), "float32"),
        C: T.Tensor((64, 1024), "float32"),
        D: T.Tensor((64, 1024), "float32"),
    ):
        with T.Kernel(16) as bx:
            row, total = T.alloc_fragment((4, 1024), "float32"), T.alloc_fragment((4,), "float32")
            for i, j in T.Parallel(4, 1024):
                row[i, j] = C[bx * 4 + i, j] * B[bx * 4 + i, j] + A[bx * 4 + i, j]
            T.reduce_sum(row, total, dim=1)
            for i, j in T.Parallel(4, 1024):
                D[bx * 4 + i, j] = row[i, j] / total[i]

    source = tilecore.compile(kernel, target=INTEL).get_kernel_source()
    pattern = r"getelementptr \w+, ptr %([ABC])_\d+, i32 %v\d+\s+call void @llvm.prefetch"
    fetched = re.findall(pattern, source)
    assert fetched == sorted(fetched)
    assert set(fetched) == {"A", "B", "C"}
