"""Pipelines, cores and polls on the simulator, which refuses any hazard between engines in a region."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.plugins import manager


@pytest.fixture(autouse=True)
def reports(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The reports of a test's runs."""
    from tile_tpu import plugin
    from tile_tpu.simulate.device import SimulatedTpu

    collected: list[Any] = []
    run = SimulatedTpu.run

    def noting(self: Any, *args: Any, **options: Any) -> Any:
        collected.append(run(self, *args, **options))
        return collected[-1]

    monkeypatch.setattr(SimulatedTpu, "run", noting)
    is_registered = any(e.name == "tpu" for e in entry_points(group="tilecore.backends"))
    with nullcontext() if is_registered else manager.register(plugin, package="tile-tpu"):
        yield collected


def compiled(func, chip="bm1690"):
    return tilecore.compile(func, target=f"tpu -chip={chip}", execution_backend="sim")


def product(m, n, k, tile, stages, dtype="float16"):
    rows, columns, depth = tile

    @T.prim_func
    def main(a: T.Tensor((m, k), dtype), b: T.Tensor((k, n), dtype), c: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, columns), T.ceildiv(m, rows), threads=128) as (bx, by):
            a_tile = T.alloc_shared((rows, depth), dtype)
            b_tile = T.alloc_shared((depth, columns), dtype)
            total = T.alloc_fragment((rows, columns), "float32")
            T.clear(total)
            for step in T.Pipelined(T.ceildiv(k, depth), num_stages=stages):
                T.copy(a[by * rows, step * depth], a_tile)
                T.copy(b[step * depth, bx * columns], b_tile)
                T.gemm(a_tile, b_tile, total)
            T.copy(total, c[by * rows, bx * columns])

    return main


SHAPES = [
    (256, 256, 512, (64, 128, 64)),
    (100, 130, 200, (64, 64, 64)),
    (64, 64, 64, (64, 64, 64)),
    (70, 33, 129, (32, 32, 32)),
]


@pytest.mark.parametrize("chip", ["bm1690", "bm1688"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products(shape, chip, reports):
    m, n, k, tile = shape
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    results = []
    for stages in (1, 2, 3):
        c = np.full((m, n), np.nan, np.float32)
        compiled(product(m, n, k, tile, stages), chip)(a, b, c)
        results.append(c)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(results[0] - expected).max() < 1e-3
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
    plain, piped, deeper = reports
    assert plain.cores[0].regions == 0
    if k > tile[2]:
        assert piped.total_cycles < plain.total_cycles
    assert piped.total_cycles == deeper.total_cycles


def softmax_of_columns(m, n, width, stages):
    """Row maxima and sums over tiles of columns, as in attention."""

    @T.prim_func
    def main(x: T.Tensor((m, n), "float32"), high: T.Tensor((m,), "float32"), total: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, 64), threads=128) as bx:
            tile = T.alloc_shared((64, width), "float32")
            work = T.alloc_fragment((64, width), "float32")
            top = T.alloc_fragment((64,), "float32")
            before = T.alloc_fragment((64,), "float32")
            part = T.alloc_fragment((64,), "float32")
            sums = T.alloc_fragment((64,), "float32")
            T.fill(top, -1e30)
            T.fill(sums, 0)
            for step in T.Pipelined(n // width, num_stages=stages):
                T.copy(x[bx * 64, step * width], tile)
                T.copy(top, before)
                T.reduce_max(tile, top, dim=1, clear=False)
                for i, j in T.Parallel(64, width):
                    work[i, j] = T.exp(tile[i, j] - top[i])
                T.reduce_sum(work, part, dim=1)
                for i in T.Parallel(64):
                    sums[i] = sums[i] * T.exp(before[i] - top[i]) + part[i]
            T.copy(top, high[bx * 64])
            T.copy(sums, total[bx * 64])

    return main


def test_running_softmax(reports):
    x = np.random.default_rng(1).standard_normal((192, 512)).astype(np.float32)
    for stages in (1, 2):
        high, total = np.zeros(192, np.float32), np.zeros(192, np.float32)
        compiled(softmax_of_columns(192, 512, 64, stages))(x, high, total)
        assert np.array_equal(high, x.max(1))
        np.testing.assert_allclose(total, np.exp(x - x.max(1)[:, None]).sum(1), rtol=1e-5)
    plain, piped = reports
    assert piped.cores[0].regions == 8
    assert piped.total_cycles < plain.total_cycles


def scaled(m, n, width, stages):
    """The stores of an iteration overlap with the next one."""

    @T.prim_func
    def main(x: T.Tensor((m, n), "float32"), y: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(m, 64), threads=128) as bx:
            tile = T.alloc_shared((64, width), "float32")
            for step in T.Pipelined(n // width, num_stages=stages):
                T.copy(x[bx * 64, step * width], tile)
                for i, j in T.Parallel(64, width):
                    tile[i, j] = T.exp(tile[i, j]) * 2.0 + 1.0
                T.copy(tile, y[bx * 64, step * width])

    return main


@pytest.mark.parametrize("rows", [128, 640, 1100])
def test_stores_behind(rows, reports):
    x = np.random.default_rng(2).uniform(-1, 1, (rows, 512)).astype(np.float32)
    for stages in (1, 2):
        y = np.zeros_like(x)
        compiled(scaled(rows, 512, 128, stages))(x, y)
        np.testing.assert_allclose(y, np.exp(x) * 2 + 1, rtol=1e-5)
    plain, piped = reports
    assert len(piped.cores) == min(8, -(-rows // 64))
    assert piped.total_cycles < plain.total_cycles


def test_explain_reports_the_pipelined_loop():
    text = str(compiled(product(256, 256, 512, (64, 128, 64), 2)).explain())
    assert "a_tile, b_tile: 2 stages" in text
    assert "blocks run on 8 cores, distributed cyclically" in text


def test_blocks_that_add_to_one_tensor_run_on_one_core(reports):
    @T.prim_func
    def main(x: T.Tensor((16, 64), "float32"), total: T.Tensor((64,), "float32")):
        with T.Kernel(16, threads=64) as bx:
            for j in T.Parallel(64):
                T.atomic_add(total[j], x[bx, j])

    x = np.random.default_rng(3).standard_normal((16, 64)).astype(np.float32)
    total = np.zeros(64, np.float32)
    kernel = compiled(main)
    kernel(x, total)
    np.testing.assert_allclose(total, x.sum(0), rtol=1e-4, atol=1e-5)
    assert len(reports[0].cores) == 1
    assert "on one core" in str(kernel.explain())


def test_the_control_core_waits_for_what_it_reads():
    """The index of a row is read from local memory."""

    @T.prim_func
    def main(rows: T.Tensor((16,), "int32"), x: T.Tensor((64, 64), "float32"), y: T.Tensor((16, 64), "float32")):
        with T.Kernel(1, threads=64) as _:
            index = T.alloc_shared((16,), "int32")
            tile = T.alloc_shared((1, 64), "float32")
            T.copy(rows, index)
            for i in T.serial(16):
                T.copy(x[index[i] : index[i] + 1, 0:64], tile)
                T.copy(tile, y[i : i + 1, 0:64])

    rng = np.random.default_rng(4)
    rows = rng.integers(0, 64, 16).astype(np.int32)
    x, y = rng.standard_normal((64, 64)).astype(np.float32), np.zeros((16, 64), np.float32)
    kernel = compiled(main)
    kernel(rows, x, y)
    assert np.array_equal(y, x[rows])
    source = kernel.get_kernel_source()
    assert source.count("tpu_poll();") == 2
    assert source.index("tpu_poll();") < source.index("ELEMENT(int")
