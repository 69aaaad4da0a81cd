"""Regions as views: every element of a view is at its location in the layout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowered_tiles import Bench, region
from tile_tpu.ir.layouts import LANE, PARTITIONED, ROW, TILE
from tile_tpu.lowering.state import TileLayouts
from tile_tpu.lowering.views.regions import NoView, normalized, part, region_view

from tilecore.ir.nodes import tirx

KINDS = {1: [LANE, ROW, "flat"], 2: [TILE, "flat"], 3: [TILE, "flat"], 4: [TILE]}


@st.composite
def regions(draw):
    rank = draw(st.integers(1, 4))
    shape = tuple(draw(st.integers(1, 5 if axis < rank - 2 else 150)) for axis in range(rank))
    starts = [draw(st.integers(0, s - 1)) for s in shape]
    extents = [draw(st.integers(1, s - first)) for s, first in zip(shape, starts, strict=True)]
    return shape, draw(st.sampled_from(KINDS[rank])), starts, extents, draw(st.sampled_from(["float32", "int8"]))


@settings(max_examples=150, deadline=None)
@given(regions(), st.sampled_from(["bm1690", "bm1688"]))
def test_elements_are_where_the_layout_has_them(case, chip):
    shape, kind, starts, extents, dtype = case
    bench = Bench(chip)
    buffer = bench.buffer(np.zeros(shape), dtype, kind)
    layout = bench.env.state(TileLayouts).by_tile[buffer][1]
    viewed = region_view(region(buffer, *zip(starts, extents, strict=True)), bench.env.state(TileLayouts).by_tile)
    eu = bench.chip.eu_count(32 if dtype == "float32" else 8)
    for view in (viewed.view, normalized(viewed.view, bench.chip.lanes, eu)):
        places = np.broadcast_arrays(*bench.machine.places(view))
        size = [view.shape[a] for a in range(4)]
        at = np.indices(size)
        index = [s + (at[viewed.axes.index(a)] if a in viewed.axes else 0) for a, s in enumerate(starts)]
        lane, offset = layout.location_of(index)
        assert np.array_equal(*np.broadcast_arrays(places[0], lane))
        assert np.array_equal(*np.broadcast_arrays(places[1], offset))
        assert np.prod(size) == np.prod(extents)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.integers(1, 100), st.data())
def test_parts_are_the_elements_of_the_whole(rows, columns, data):
    bench = Bench()
    view = region_view(
        region(bench.buffer(np.zeros((rows, columns)), "float16")), bench.env.state(TileLayouts).by_tile
    ).view
    lanes = bench.chip.lanes
    axis = data.draw(st.sampled_from([1, 3]))
    start = data.draw(st.integers(0, view.shape[axis] - 1))
    start -= start % lanes if axis == 1 else 0
    count = data.draw(st.integers(1, view.shape[axis] - start))
    cut = [slice(None)] * 4
    cut[axis] = slice(start, start + count)
    for whole, piece in zip(
        bench.machine.places(view), bench.machine.places(part(view, axis, start, count, lanes)), strict=False
    ):
        assert np.array_equal(whole[tuple(cut)], piece)


def test_a_partitioned_vector_is_one_view_when_its_parts_are_full():
    bench = Bench()
    full, cut = (bench.buffer(np.zeros(n), "float32", PARTITIONED) for n in (640, 641))
    layouts = bench.env.state(TileLayouts).by_tile
    assert region_view(region(full), layouts).view.shape == (1, 64, 1, 10)
    for wrong in (region(cut), region(full, (0, 10))):
        with pytest.raises(NoView, match="partitioned"):
            region_view(wrong, layouts)


def test_says_why_there_is_no_view():
    bench = Bench()
    layouts = bench.env.state(TileLayouts).by_tile
    deep = bench.buffer(np.zeros((2, 2, 2, 3, 4)), "float32")
    far = tirx.decl_buffer([4, 4], "float32", "A", scope="global", layout=None)
    private = tirx.decl_buffer([4, 4], "float32", "x", scope="local", layout=None)
    for buffer, words in ((deep, "too many axes"), (far, "global"), (private, "no layout")):
        with pytest.raises(NoView, match=words):
            region_view(region(buffer), layouts)
