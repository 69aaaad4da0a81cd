"""When local buffers live: from their first to their last use, around loops, and where parts of a tile are filled."""

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


def test_a_buffer_lives_from_its_first_to_its_last_use():
    a, b, c = local("a"), local("b"), local("c")
    bounds, _ = ranges(
        *alloc(a, b, c),
        do("load", tile(a), piece(A)),
        do("mul", tile(b), tile(a), tile(a)),
        do("mul", tile(c), tile(b), tile(b)),
        do("store", piece(B), tile(c)),
    )
    assert bounds == {"a": (1, 2), "b": (2, 3), "c": (3, 4)}


def test_what_a_loop_writes_whole_first_does_not_live_through_it():
    a, b = local("a"), local("b")
    body = [do("load", tile(a), piece(A, K * 64)), do("mul", tile(b), tile(a), tile(a)), do("store", piece(B), tile(b))]
    bounds, _ = ranges(*alloc(a, b), do("poll"), loop("k", 8, *body, var=K), do("poll"))
    assert bounds["a"][1] == bounds["b"][0]
    assert bounds["b"][1] - bounds["a"][0] == 2


def test_a_sum_lives_through_its_loop():
    a, total, late = local("a"), local("total"), local("late")
    bounds, _ = ranges(
        *alloc(a, total, late),
        do("fill", tile(total), const(0.0, "float32")),
        loop("k", 8, do("load", tile(a), piece(A, K * 64)), do("add", tile(total), tile(total), tile(a)), var=K),
        do("mul", tile(late), tile(total), tile(total)),
    )
    assert bounds["total"][0] < bounds["a"][0]
    assert bounds["total"][1] == bounds["late"][0]


def test_what_a_step_hands_to_the_next_lives_through_the_loop():
    a, b = local("a"), local("b")
    _, live_ranges = ranges(
        *alloc(a, b), loop("k", 8, do("copy", tile(b), tile(a)), do("load", tile(a), piece(A)), do("poll"))
    )
    first = live_ranges.ranges[a]
    assert (first.first, first.last) == (2, 4)


def test_what_a_step_may_leave_unwritten_lives_through_the_loop():
    a, b, c = local("a"), local("b"), local("c")
    maybe = IfThenElse(tirx.EQ(K, const(0, "int32")), do("load", tile(a), piece(A)), None)
    bounds, _ = ranges(
        *alloc(a, b, c), loop("k", 8, do("load", tile(c), piece(A)), maybe, do("copy", tile(b), tile(a)), var=K)
    )
    assert bounds["a"] == (2, 5)
    assert bounds["b"][0] == bounds["b"][1]


def test_read_after_a_loop_lives_through_all_of_it():
    a, b = local("a"), local("b")
    maybe = IfThenElse(tirx.EQ(K, const(3, "int32")), do("load", tile(a), piece(A)), None)
    bounds, _ = ranges(
        *alloc(a, b),
        loop("k", 8, do("load", tile(b), piece(A)), do("store", piece(B), tile(b)), maybe, var=K),
        do("store", piece(B), tile(a)),
    )
    assert bounds["a"][0] <= bounds["b"][0]


def test_a_tail_that_is_filled_first_is_whole():
    a, b = local("a"), local("b")
    rows = tirx.Min(const(64, "int32"), const(100, "int32") - K * 64)
    step = [
        do("fill", tile(a), const(0.0, "float32")),
        do("load", tile(a, rows), piece(A, K * 64, rows)),
        do("mul", tile(b), tile(a), tile(a)),
    ]
    bounds, _ = ranges(*alloc(a, b), loop("k", 2, do("poll"), *step, var=K))
    assert bounds["a"][0] == 3


def test_a_tail_alone_is_all_that_there_is():
    a, b = local("a"), local("b")
    rows = tirx.Min(const(64, "int32"), const(100, "int32") - K * 64)
    step = [do("load", tile(a, rows), piece(A, K * 64, rows)), do("mul", tile(b), tile(a), tile(a))]
    bounds, _ = ranges(*alloc(a, b), loop("k", 2, do("poll"), *step, var=K))
    assert bounds["a"] == (3, 4)


def test_allocated_in_a_loop_lives_in_a_step():
    a, b = local("a"), local("b")
    step = [do("poll"), *alloc(a), do("copy", tile(b), tile(a)), do("load", tile(a), piece(A)), do("poll")]
    bounds, _ = ranges(*alloc(b), loop("k", 8, *step))
    assert bounds["a"] == (3, 4)


def test_a_parallel_region_is_one_moment():
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


def test_elements_count_as_uses():
    a, b = local("a"), local("b")
    bounds, _ = ranges(
        *alloc(a, b),
        set_element(a, const(1.0, "float32")),
        do("poll"),
        Evaluate(element(a)),
        do("copy", tile(b), tile(b)),
    )
    assert bounds["a"] == (1, 3)


def test_pairs_count_the_steps_of_loops():
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
def test_a_fill_and_a_load_make_a_whole(limit, is_guarded, carries):
    """The fill is done where the load is not whole; one that is done too rarely leaves old elements. Tails of 100
    rows in steps of 64 have 64 or 36."""
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
