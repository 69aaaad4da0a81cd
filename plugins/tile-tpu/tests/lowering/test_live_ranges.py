"""Live ranges of local buffers: from the first write to the last read, around loops, and where parts of a tile are
filled."""

from __future__ import annotations

import pytest
from by_hand import alloc, do, element, local, loop, piece, set_element, tensor, tile
from tile_tpu.chips import BM1690
from tile_tpu.lowering.local_memory.live_ranges import LiveRanges

from tilecore.ir.build import const, seq
from tilecore.ir.nodes import Evaluate, IfThenElse, Var, tirx

A, B = tensor("A"), tensor("B")
K = Var("k", "int32")


def ranges(*body):
    live_ranges = LiveRanges(seq(body), BM1690.lanes)
    return {
        str(b.name): (live_range.first, live_range.last) for b, live_range in live_ranges.ranges.items()
    }, live_ranges


def test_a_live_range_is_from_the_first_to_the_last_access():
    a, b, c = local("a"), local("b"), local("c")
    bounds, _ = ranges(
        *alloc(a, b, c),
        do("load", tile(a), piece(A)),
        do("mul", tile(b), tile(a), tile(a)),
        do("mul", tile(c), tile(b), tile(b)),
        do("store", piece(B), tile(c)),
    )
    assert bounds == {"a": (1, 2), "b": (2, 3), "c": (3, 4)}


def test_a_buffer_that_each_iteration_writes_first_has_a_range_inside_the_loop():
    a, b = local("a"), local("b")
    body = [do("load", tile(a), piece(A, K * 64)), do("mul", tile(b), tile(a), tile(a)), do("store", piece(B), tile(b))]
    bounds, _ = ranges(*alloc(a, b), do("poll"), loop("k", 8, *body, var=K), do("poll"))
    assert bounds["a"][1] == bounds["b"][0]
    assert bounds["b"][1] - bounds["a"][0] == 2


def test_an_accumulator_is_live_in_its_whole_loop():
    a, total, late = local("a"), local("total"), local("late")
    bounds, _ = ranges(
        *alloc(a, total, late),
        do("fill", tile(total), const(0.0, "float32")),
        loop("k", 8, do("load", tile(a), piece(A, K * 64)), do("add", tile(total), tile(total), tile(a)), var=K),
        do("mul", tile(late), tile(total), tile(total)),
    )
    assert bounds["total"][0] < bounds["a"][0]
    assert bounds["total"][1] == bounds["late"][0]


def test_a_loop_carried_buffer_is_live_in_the_whole_loop():
    a, b = local("a"), local("b")
    _, live_ranges = ranges(
        *alloc(a, b), loop("k", 8, do("copy", tile(b), tile(a)), do("load", tile(a), piece(A)), do("poll"))
    )
    first = live_ranges.ranges[a]
    assert (first.first, first.last) == (2, 4)


def test_a_buffer_that_an_iteration_may_not_write_is_live_in_the_whole_loop():
    a, b, c = local("a"), local("b"), local("c")
    maybe = IfThenElse(tirx.EQ(K, const(0, "int32")), do("load", tile(a), piece(A)), None)
    bounds, _ = ranges(
        *alloc(a, b, c), loop("k", 8, do("load", tile(c), piece(A)), maybe, do("copy", tile(b), tile(a)), var=K)
    )
    assert bounds["a"] == (2, 5)
    assert bounds["b"][0] == bounds["b"][1]


def test_a_buffer_that_is_read_after_a_loop_is_live_in_all_of_it():
    a, b = local("a"), local("b")
    maybe = IfThenElse(tirx.EQ(K, const(3, "int32")), do("load", tile(a), piece(A)), None)
    bounds, _ = ranges(
        *alloc(a, b),
        loop("k", 8, do("load", tile(b), piece(A)), do("store", piece(B), tile(b)), maybe, var=K),
        do("store", piece(B), tile(a)),
    )
    assert bounds["a"][0] <= bounds["b"][0]


def test_a_tail_after_a_fill_covers_the_buffer():
    a, b = local("a"), local("b")
    rows = tirx.Min(const(64, "int32"), const(100, "int32") - K * 64)
    step = [
        do("fill", tile(a), const(0.0, "float32")),
        do("load", tile(a, rows), piece(A, K * 64, rows)),
        do("mul", tile(b), tile(a), tile(a)),
    ]
    bounds, _ = ranges(*alloc(a, b), loop("k", 2, do("poll"), *step, var=K))
    assert bounds["a"][0] == 3


def test_a_tail_covers_what_the_loop_writes():
    a, b = local("a"), local("b")
    rows = tirx.Min(const(64, "int32"), const(100, "int32") - K * 64)
    step = [do("load", tile(a, rows), piece(A, K * 64, rows)), do("mul", tile(b), tile(a), tile(a))]
    bounds, _ = ranges(*alloc(a, b), loop("k", 2, do("poll"), *step, var=K))
    assert bounds["a"] == (3, 4)


def test_a_buffer_that_is_allocated_in_a_loop_is_live_in_one_iteration():
    a, b = local("a"), local("b")
    step = [do("poll"), *alloc(a), do("copy", tile(b), tile(a)), do("load", tile(a), piece(A)), do("poll")]
    bounds, _ = ranges(*alloc(b), loop("k", 8, *step))
    assert bounds["a"] == (3, 4)


def test_a_parallel_region_has_one_index():
    a, b = local("a"), local("b")
    bounds, live_ranges = ranges(
        *alloc(a, b),
        do("parallel_start"),
        do("load", tile(a), piece(A)),
        do("mul", tile(b), tile(b), tile(b)),
        do("parallel_end"),
    )
    assert bounds["a"] == bounds["b"]
    assert live_ranges.together == {frozenset((a, b)): 1}


def test_accesses_of_the_control_core_count_as_uses():
    a, b = local("a"), local("b")
    bounds, _ = ranges(
        *alloc(a, b),
        set_element(a, const(1.0, "float32")),
        do("poll"),
        Evaluate(element(a)),
        do("copy", tile(b), tile(b)),
    )
    assert bounds["a"] == (1, 3)


def test_pairs_are_weighted_by_the_iterations_of_loops():
    a, b = local("a"), local("b")
    _, live_ranges = ranges(*alloc(a, b), loop("i", 4, loop("j", 5, do("copy", tile(a), tile(b)))))
    assert live_ranges.together == {frozenset((a, b)): 20}


# -- fills of tails -----------------------------------------------------------------------------------------------

ROWS = const(100, "int32") - tirx.Max(K * 64, const(36, "int32"))
COLUMNS = const(200, "int32") - tirx.Max(K * 64, const(136, "int32"))


def short(limit=64):
    return tirx.Or(tirx.LT(ROWS, const(limit, "int32")), tirx.LT(COLUMNS, const(limit, "int32")))


@pytest.mark.parametrize(
    ("limit", "is_guarded", "carries"),
    [(64, True, False), (64, False, False), (63, True, False), (36, True, True), (32, False, True)],
)
def test_a_fill_and_a_load_cover_the_buffer(limit, is_guarded, carries):
    """The tile is filled where the load does not cover it; a fill under a stricter condition would leave old elements.
    Tails of 100 rows in steps of 64 have 64 or 36."""
    a, b = local("a"), local("b")
    zero = const(0, "int32")
    load = do("load", tile(a, ROWS, COLUMNS), piece(A, K * 64, ROWS, COLUMNS))
    some = tirx.And(tirx.GT(ROWS, zero), tirx.GT(COLUMNS, zero))
    step = [
        IfThenElse(short(limit), do("fill", tile(a), const(0.0, "float32")), None),
        IfThenElse(some, load, None) if is_guarded else load,
        do("mul", tile(b), tile(a), tile(a)),
    ]
    body = loop("k", 2, *step, var=K)
    live_ranges = LiveRanges(seq([*alloc(a, b), body]), BM1690.lanes)
    assert live_ranges.dependences.carries(body, a) == carries
