"""gather_rows as a command: its results, and the views that it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lowered_tiles import Bench, region
from tile_tpu.ir.layouts import LANE
from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.frames import NotTensor
from tile_tpu.lowering.commands.gather_rows import gather_rows
from tile_tpu.lowering.state import TileLayouts
from tile_tpu.lowering.tile_ops.emitter import Work
from tile_tpu.lowering.views.regions import region_view

from tilecore.ir.nodes import tirx

RNG = np.random.default_rng(0)


def prepared(count: int, size: int, columns: int, index: np.ndarray):
    bench = Bench()
    source = RNG.standard_normal((size, columns)).astype("float32")
    tensor = tirx.decl_buffer([size, columns], "float32", "X", scope="global", layout=None)
    bench.machine.tensor(tensor, source)
    out = bench.buffer(np.zeros((count, columns)), "float32", written=False)
    rows = bench.buffer(index.astype("int32"), "int32", LANE)
    src = View(tensor, 0, 0, (1, 1, size, columns), (0, 0, columns, 1))
    views = [region_view(region(b), bench.env.state(TileLayouts).by_tile).view for b in (out, rows)]
    return bench, source, out, views[0], src, views[1]


@pytest.mark.parametrize("count", [1, 64, 65, 130])
def test_rows(count):
    index = RNG.integers(-3, 25, count)
    bench, source, out, dst, src, rows = prepared(count, 20, 33, index)
    work = Work(bench.chip, None)
    gather_rows(work, dst, src, rows, tirx.const(7.0, "float32"))
    bench.machine.run(work.statement())
    inside = (index >= 0) & (index < 20)
    assert np.array_equal(bench.value(out), np.where(inside[:, None], source[np.clip(index, 0, 19)], 7.0))


def test_refuses_other_views():
    bench, _, _, dst, src, rows = prepared(8, 20, 33, np.arange(8))
    zero = tirx.const(0.0, "float32")
    for wrong in (
        (dst, src, replace(rows, lane=1)),
        (dst, src, replace(rows, shape=(1, 7, 1, 1))),
        (dst, replace(src, strides=(0, 0, 33, 2)), rows),
        (replace(dst, shape=(2, 4, 1, 33)), src, rows),
    ):
        with pytest.raises(NotTensor):
            gather_rows(Work(bench.chip, None), *wrong, zero)
