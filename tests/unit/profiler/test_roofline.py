"""The profiler's row: rates of a measured time, and the share of the roofline where the device's peaks are known."""

from __future__ import annotations

import pytest

import tilecore
import tilecore.language as T
from tilecore.profiler.cost import KernelCost
from tilecore.profiler.roofline import Peaks, Roofline, peaks_of


@T.prim_func
def doubled(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
    with T.Kernel(4, threads=32) as bx:
        for i, j in T.Parallel(16, 32):
            B[bx * 16 + i, j] = A[bx * 16 + i, j] * 2.0


def costs(matrix, elements, read, written, bound="exact"):
    return KernelCost("k", matrix, elements, read, written, read + written, {}, {}, bound)


PEAKS = Peaks(1e12, {"float16": 100e12}, 2e12, "a table")


def test_rates_and_shares():
    row = Roofline(costs({"float16": 10**12}, 10**9, 10**9, 10**9), 20.0, PEAKS)
    assert (row.tflops, row.gigabytes) == (pytest.approx(50.05), pytest.approx(100.0))
    assert row.least_milliseconds == pytest.approx(10.0)  # 1e12 operations at 1e14 a second
    assert (row.share, row.limit) == (pytest.approx(0.5), "matrix products")
    assert "50.0% of the roofline (limit: matrix products; peaks: a table)" in str(row)


@pytest.mark.parametrize(
    ("cost", "limit", "least"),
    [
        (costs({}, 10**6, 2 * 10**9, 0), "memory", 1.0),
        (costs({}, 4 * 10**9, 10**6, 0), "arithmetic", 4.0),
        (costs({"float64": 5 * 10**9}, 0, 10**6, 0), "matrix products", 5.0),  # without instructions for the type
    ],
)
def test_the_limit_is_what_takes_longest(cost, limit, least):
    row = Roofline(cost, 10.0, PEAKS)
    assert (row.limit, row.least_milliseconds) == (limit, pytest.approx(least))


def test_unknown_peaks_are_said_to_be_unknown():
    row = Roofline(costs({}, 10**6, 10**9, 0, "at most"), 1.0, Peaks(0.0, {}, 2e12, "a table"))
    assert row.share is row.limit is row.least_milliseconds is None
    assert "(at most); share of the roofline unknown: no peak for arithmetic in a table" in str(row)


def test_the_row_of_a_kernel_is_measured():
    kernel = tilecore.compile(doubled, target="cpu")
    row = kernel.get_profiler().roofline(n_warmup=1, n_repeat=3)
    assert row.cost == kernel.cost()
    assert row.milliseconds > 0
    assert "unknown: no peak for memory, arithmetic" in str(row)
    assert "'cpu'" in str(row)


def test_no_figures_no_peaks():
    peaks = peaks_of("cpu")
    assert (peaks.vector_flops, peaks.matrix_flops, peaks.bandwidth) == (0.0, {}, 0.0)
    assert peaks.source == "target 'cpu', whose backend gives no figures"
