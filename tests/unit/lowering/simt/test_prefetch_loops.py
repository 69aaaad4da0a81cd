"""Tiles of pipelined loops that are prefetched into registers: what runs ahead, the barriers, and that results stay."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.ir.nodes import AllocBuffer, For
from tilecore.ir.visit import collect
from tilecore.lowering.simt import prefetch_loops as prefetching
from tilecore.lowering.simt.pipeline_loops import PIPELINE_LOOPS
from tilecore.lowering.simt.prefetch_loops import PREFETCH_LOOPS

from . import kit
from .kit import calls, lowered, same_results
from .test_pipeline_loops import inputs, product


@pytest.fixture(autouse=True)
def prefetching_target(monkeypatch):
    """The imagined target prefetches to registers, as one without asynchronous copies does."""
    steps = tuple(PREFETCH_LOOPS if step is PIPELINE_LOOPS else step for step in kit.STEPS)
    monkeypatch.setattr(kit, "STEPS", steps)


def loop_of(func):
    return next(f for f in collect(func.body, For) if "tile.loop" in f.annotations)


@pytest.mark.parametrize("stages", [0, 1, 2, 3])
@pytest.mark.parametrize("k", [16, 90, 96])
def test_results_stay(stages, k):
    *_, c = same_results(product(stages, k), *inputs(k), close=True)
    a, b, _ = inputs(k)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_one_slot_and_two_barriers_a_step(stages):
    after, env = lowered(product(stages), "insert_barriers")
    tiles = [a.buffer for a in collect(after.body, AllocBuffer) if str(a.buffer.scope()).startswith("shared")]
    assert [len(t.shape) for t in tiles] == [2, 2]  # no axis of slots
    assert len(calls(loop_of(after).body, "tile.sync_threads")) == 2  # before the product reads, and behind it
    assert env.report["pipelines"] == [{"tiles": "a, b", "stages": 2, "filled": "through registers"}]


def test_loads_come_first_and_stores_last():
    after, _ = lowered(product(2), "prefetch_loops")
    first, *_, last = (calls(part, "tile.copy") for part in loop_of(after).body.seq)
    assert str(first[0].value.args[1].source.name) == "a_next"
    assert str(last[0].value.args[0].source.name) == "b_next"


def test_loops_without_iterations():
    """The number of iterations is known at run time only, and may be 0."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((16,), "float32"), n: T.int32):
        with T.Kernel(1, threads=32):
            x = T.alloc_shared((16,), "float32")
            total = T.alloc_fragment((16,), "float32")
            T.clear(total)
            for i in T.Pipelined(n, num_stages=2):
                T.copy(X[i * 16], x)
                for j in T.Parallel(16):
                    total[j] += x[j]
            T.copy(total, Y)

    values = np.arange(64, dtype=np.float32)
    for n in (0, 1, 4):
        _, y, *_ = same_results(kernel, values, np.full(16, -1, np.float32), n)
        np.testing.assert_array_equal(y, values[: 16 * n].reshape(n, 16).sum(0) if n else np.zeros(16))


def test_tiles_too_large_for_registers_are_copied_in_order(monkeypatch):
    monkeypatch.setattr(prefetching, "MOST_BYTES", 32)  # 64 threads: a (2 KiB) fits, b (3 KiB) does not any more
    after, env = lowered(product(2), "prefetch_loops")
    assert env.report["pipelines"][0]["tiles"] == "a"
    same_results(product(2), *inputs(), close=True)
    assert len(calls(loop_of(after).body, "tile.copy")) == 3


def test_a_continue_leaves_the_loop_as_it_is():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            x = T.alloc_shared((16,), "float32")
            for i in T.Pipelined(4, num_stages=2):
                T.copy(X[i * 16], x)
                if i == 1:
                    continue
                T.copy(x, Y[i * 16])

    _, env = lowered(kernel, "prefetch_loops")
    assert "pipelines" not in env.report
    values = np.arange(64, dtype=np.float32)
    _, y = same_results(kernel, values, np.zeros(64, np.float32))
    assert y.tolist() == [0 if 16 <= n < 32 else n for n in range(64)]
