"""Overlaps of views, compared with the sets of their elements."""

from __future__ import annotations

from by_hand import local
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_tpu.ir.overlaps import covers, may_overlap
from tile_tpu.ir.views import View

from tilecore.ir.build import const
from tilecore.ir.nodes import Var, tirx

LANES = 4
BUFFER = local("a", 4096)


def places(view: View) -> set[tuple[int, int]]:
    n, c, h, w = view.shape
    sn, sc, sh, sw = view.strides
    return {
        ((view.lane + j) % LANES, view.offset + i * sn + (view.lane + j) // LANES * sc + k * sh + m * sw)
        for i in range(n)
        for j in range(c)
        for k in range(h)
        for m in range(w)
    }


@st.composite
def views(draw):
    sizes = [
        draw(st.sampled_from([1, 1, 2, 3])),
        draw(st.sampled_from([1, 2, 4, 5, 8])),
        draw(st.sampled_from([1, 2, 3])),
    ]
    w = draw(st.sampled_from([1, 2, 4]))
    sh = draw(st.sampled_from([w, w, 4, 8]))
    sc = draw(st.sampled_from([sizes[2] * sh, 16, 1]))
    sn = draw(st.sampled_from([-(-sizes[1] // LANES) * sc, 32, 3]))
    lane, offset = draw(st.sampled_from([0, 0, 0, 1, 3])), draw(st.sampled_from([0, 0, 4, 8, 16, 24]))
    return View(BUFFER, lane, offset, (*sizes, w), (sn, sc, sh, draw(st.sampled_from([1, 1, 1, 2]))))


@settings(max_examples=500, deadline=None)
@given(views(), views())
def test_views_without_may_overlap_are_disjoint(a, b):
    if not may_overlap(a, b, LANES):
        assert not places(a) & places(b)


@settings(max_examples=500, deadline=None)
@given(views(), views())
def test_covered_views_are_subsets(a, b):
    if covers(a, b, LANES):
        assert places(b) <= places(a)


def view(offset=0, rows=4, columns=8, strides=(8, 8, 8, 1), lane=0):
    return View(BUFFER, lane, offset, (1, rows, 1, columns), strides)


def test_neighbours_are_apart():
    assert not may_overlap(view(), view(8), LANES)
    assert may_overlap(view(), view(7), LANES)


def test_lanes_apart():
    assert not may_overlap(view(rows=2), view(rows=2, lane=2), LANES)
    assert may_overlap(view(rows=3), view(rows=2, lane=2), LANES)


def test_offsets_that_differ_by_a_constant():
    k = Var("k", "int32")
    assert not may_overlap(view(k * 8), view(k * 8 + 8), LANES)
    assert may_overlap(view(k * 8), view(16), LANES)


def test_other_shapes_of_the_same_elements():
    flat = View(BUFFER, 0, 0, (1, 4, 1, 16), (16, 16, 16, 1))
    folded = View(BUFFER, 0, 0, (1, 4, 4, 4), (16, 16, 4, 1))
    assert covers(flat, folded, LANES)
    assert covers(folded, flat, LANES)
    assert not covers(folded.with_shape(1, 4, 3, 4), flat, LANES)


def test_a_tail_is_in_the_whole():
    k = Var("k", "int32")
    rows = tirx.Min(const(4, "int32"), const(10, "int32") - k * 4)
    assert covers(view(), view(rows=rows), LANES)
    assert covers(view(rows=rows), view(rows=rows), LANES)
    assert not covers(view(rows=rows), view(), LANES)
