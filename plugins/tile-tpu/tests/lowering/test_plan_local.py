"""Addresses of local buffers: lives, sharing, banks, and what is said when they do not fit."""

from __future__ import annotations

import pytest
from by_hand import alloc, do, element, environment, kernel, local, loop, piece, run, set_element, tensor, tile
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_tpu.chips import BM1690
from tile_tpu.lowering.lifetimes import Lifetimes
from tile_tpu.lowering.placement import Memory, Piece, conflicts, most_alive, place
from tile_tpu.lowering.plan_local import PLAN_LOCAL, memory_of

from tilecore.errors import UnsupportedError
from tilecore.ir.build import const, seq
from tilecore.ir.nodes import DeclBuffer, Evaluate, IfThenElse, Var, tirx

A, B = tensor("A"), tensor("B")
K = Var("k", "int32")


def lives(*body):
    found = Lifetimes(seq(body), BM1690.lanes)
    return {str(b.name): (life.first, life.last) for b, life in found.lives.items()}, found


def addresses(func, env=None):
    return {str(k): int(v) for k, v in run(PLAN_LOCAL, func, env).attrs["tpu.local"].items()}


# -- lives --------------------------------------------------------------------------------------------------------


def test_a_buffer_lives_from_its_first_to_its_last_use():
    a, b, c = local("a"), local("b"), local("c")
    found, _ = lives(
        *alloc(a, b, c),
        do("load", tile(a), piece(A)),
        do("mul", tile(b), tile(a), tile(a)),
        do("mul", tile(c), tile(b), tile(b)),
        do("store", piece(B), tile(c)),
    )
    assert found == {"a": (1, 2), "b": (2, 3), "c": (3, 4)}


def test_what_a_loop_writes_whole_first_does_not_live_through_it():
    a, b = local("a"), local("b")
    body = [do("load", tile(a), piece(A, K * 64)), do("mul", tile(b), tile(a), tile(a)), do("store", piece(B), tile(b))]
    found, _ = lives(*alloc(a, b), do("poll"), loop("k", 8, *body, var=K), do("poll"))
    assert found["a"][1] == found["b"][0]
    assert found["b"][1] - found["a"][0] == 2


def test_a_sum_lives_through_its_loop():
    a, total, late = local("a"), local("total"), local("late")
    found, _ = lives(
        *alloc(a, total, late),
        do("fill", tile(total), const(0.0, "float32")),
        loop("k", 8, do("load", tile(a), piece(A, K * 64)), do("add", tile(total), tile(total), tile(a)), var=K),
        do("mul", tile(late), tile(total), tile(total)),
    )
    assert found["total"][0] < found["a"][0]
    assert found["total"][1] == found["late"][0]


def test_what_a_step_hands_to_the_next_lives_through_the_loop():
    a, b = local("a"), local("b")
    _, made = lives(*alloc(a, b), loop("k", 8, do("copy", tile(b), tile(a)), do("load", tile(a), piece(A)), do("poll")))
    first = made.lives[a]
    assert (first.first, first.last) == (2, 4)


def test_what_a_step_may_leave_unwritten_lives_through_the_loop():
    a, b, c = local("a"), local("b"), local("c")
    maybe = IfThenElse(tirx.EQ(K, const(0, "int32")), do("load", tile(a), piece(A)), None)
    found, _ = lives(
        *alloc(a, b, c), loop("k", 8, do("load", tile(c), piece(A)), maybe, do("copy", tile(b), tile(a)), var=K)
    )
    assert found["a"] == (2, 5)
    assert found["b"][0] == found["b"][1]


def test_read_after_a_loop_lives_through_all_of_it():
    a, b = local("a"), local("b")
    maybe = IfThenElse(tirx.EQ(K, const(3, "int32")), do("load", tile(a), piece(A)), None)
    found, _ = lives(
        *alloc(a, b),
        loop("k", 8, do("load", tile(b), piece(A)), do("store", piece(B), tile(b)), maybe, var=K),
        do("store", piece(B), tile(a)),
    )
    assert found["a"][0] <= found["b"][0]


def test_a_tail_that_is_filled_first_is_whole():
    a, b = local("a"), local("b")
    rows = tirx.Min(const(64, "int32"), const(100, "int32") - K * 64)
    step = [
        do("fill", tile(a), const(0.0, "float32")),
        do("load", tile(a, rows), piece(A, K * 64, rows)),
        do("mul", tile(b), tile(a), tile(a)),
    ]
    found, _ = lives(*alloc(a, b), loop("k", 2, do("poll"), *step, var=K))
    assert found["a"][0] == 3


def test_a_tail_alone_is_all_that_there_is():
    a, b = local("a"), local("b")
    rows = tirx.Min(const(64, "int32"), const(100, "int32") - K * 64)
    step = [do("load", tile(a, rows), piece(A, K * 64, rows)), do("mul", tile(b), tile(a), tile(a))]
    found, _ = lives(*alloc(a, b), loop("k", 2, do("poll"), *step, var=K))
    assert found["a"] == (3, 4)


def test_allocated_in_a_loop_lives_in_a_step():
    a, b = local("a"), local("b")
    step = [do("poll"), *alloc(a), do("copy", tile(b), tile(a)), do("load", tile(a), piece(A)), do("poll")]
    found, _ = lives(*alloc(b), loop("k", 8, *step))
    assert found["a"] == (3, 4)


def test_a_parallel_region_is_one_moment():
    a, b = local("a"), local("b")
    found, made = lives(
        *alloc(a, b),
        do("parallel_start"),
        do("load", tile(a), piece(A)),
        do("mul", tile(b), tile(b), tile(b)),
        do("parallel_end"),
    )
    assert found["a"] == found["b"]
    assert made.together == {frozenset((a, b)): 1}


def test_elements_count_as_uses():
    a, b = local("a"), local("b")
    found, _ = lives(
        *alloc(a, b),
        set_element(a, const(1.0, "float32")),
        do("poll"),
        Evaluate(element(a)),
        do("copy", tile(b), tile(b)),
    )
    assert found["a"] == (1, 3)


def test_pairs_count_the_steps_of_loops():
    a, b = local("a"), local("b")
    _, made = lives(*alloc(a, b), loop("i", 4, loop("j", 5, do("copy", tile(a), tile(b)))))
    assert made.together == {frozenset((a, b)): 20}


# -- placement ----------------------------------------------------------------------------------------------------


@st.composite
def problems(draw):
    count = draw(st.integers(1, 14))
    pieces = []
    for _ in range(count):
        first = draw(st.integers(0, 30))
        pieces.append(Piece(draw(st.integers(1, 40)) * 64, first, first + draw(st.integers(0, 12))))
    numbers = st.integers(0, count - 1)
    drawn = draw(st.dictionaries(st.tuples(numbers, numbers), st.integers(1, 50), max_size=12))
    pairs = {(min(p), max(p)): w for p, w in drawn.items() if p[0] != p[1]}
    return pieces, pairs


@settings(max_examples=200, deadline=None)
@given(problems(), st.integers(1, 24))
def test_pieces_that_live_together_never_overlap(problem, banks):
    pieces, pairs = problem
    memory = Memory(512 * banks, 64, 512)
    found = place(pieces, pairs, memory)
    if found is None:
        assert most_alive(pieces) * 2 > memory.size  # nothing much smaller is refused
        return
    for i, (piece_, address) in enumerate(zip(pieces, found, strict=True)):
        assert address % 64 == 0
        assert 0 <= address <= memory.size - piece_.size
        for other, there in list(zip(pieces, found, strict=True))[:i]:
            assert not piece_.meets(other) or address + piece_.size <= there or there + other.size <= address


@settings(max_examples=50, deadline=None)
@given(problems())
def test_banks_are_kept_apart_where_there_is_room(problem):
    pieces, pairs = problem
    memory = Memory(64 * 4096, 64, 4096)
    found = place(pieces, pairs, memory)
    assert found is not None
    assert not conflicts(pieces, found, pairs, memory.bank)


def test_conflicts_are_those_that_weigh_least():
    pieces = [Piece(512, 0, 9), Piece(512, 0, 9), Piece(512, 0, 9)]
    memory = Memory(2048, 64, 1024)
    found = place(pieces, {(0, 1): 100, (0, 2): 1, (1, 2): 100}, memory)
    assert found is not None
    assert conflicts(pieces, found, {(0, 1): 100, (0, 2): 1, (1, 2): 100}, 1024) == {(0, 2): 1}


# -- the pass -----------------------------------------------------------------------------------------------------


def test_operands_lie_in_banks_of_their_own():
    a, b, c = local("a"), local("b"), local("c")
    func = kernel(
        [A],
        *alloc(a, b, c),
        do("load", tile(a), piece(A)),
        do("load", tile(b), piece(A)),
        do("mul", tile(c), tile(a), tile(b)),
        do("store", piece(A), tile(c)),
    )
    banks = {address // BM1690.bank_bytes for address in addresses(func).values()}
    assert len(banks) == 3


def test_names_become_unique():
    a, other, third = local("A"), local("A"), local("b")
    func = kernel([A], *alloc(a, other, third), *(do("load", tile(x), piece(A)) for x in (a, other, third)), do("poll"))
    assert set(addresses(func)) == {"A_1", "A_2", "b"}


def test_an_alias_has_the_address_of_its_memory():
    a, b = local("a", 128), local("b", 128)
    view = local("view", 128, "int32")
    func = kernel(
        [A],
        *alloc(b, a),
        DeclBuffer(view, data=tirx.buffer_data(a)),
        do("load", tile(b), piece(A)),
        do("load", tile(view), piece(A)),
        do("add", tile(a), tile(a), tile(b)),
    )
    found = addresses(func)
    assert found["view"] == found["a"] != found["b"]


def test_large_tiles_share_memory():
    size = BM1690.lane_bytes // 4 // 2 + 64
    a, b, c = local("a", size), local("b"), local("c", size)
    big = (1, 64, 1, size)
    func = kernel(
        [A, B],
        *alloc(a, b, c),
        do("load", tile(a).with_shape(*big), piece(A)),
        do("copy", tile(b), tile(a)),
        do("load", tile(c).with_shape(*big), piece(A)),
        do("store", piece(B), tile(c)),
    )
    found = addresses(func)
    assert found["a"] == found["c"] == 0


def test_what_does_not_fit_is_shown():
    size = BM1690.lane_bytes // 4 // 2
    a, b = local("a", size), local("b", size + 16)
    with pytest.raises(UnsupportedError) as caught:
        addresses(kernel([A], *alloc(a, b), do("load", tile(a), piece(A)), do("add", tile(b), tile(b), tile(a))))
    assert str(size * 8 + 64) in caught.value.message
    assert f"b {size * 4 + 64}; a {size * 4}" in str(caught.value.found)
    assert "262144" in str(caught.value.expected)


def test_explain_has_the_map():
    env = environment()
    a, b = local("a"), local("b")
    run(PLAN_LOCAL, kernel([A], *alloc(a, b), do("load", tile(a), piece(A)), do("copy", tile(b), tile(a))), env)
    (row,) = env.report["shared_memory"]
    assert row["buffers"]["a"][1] == row["buffers"]["b"][1] == 256
    assert row["bytes"] == max(start + size for start, size in row["buffers"].values())


def test_conflicts_that_are_left_are_named():
    env = environment()
    size = BM1690.lane_bytes // 4 // 2 - 64
    a, b, c = local("a", size), local("b", size), local("c")
    step = loop("i", 7, do("mul", tile(a), tile(b), tile(c)), do("add", tile(b), tile(a), tile(c)))
    run(PLAN_LOCAL, kernel([A], *alloc(a, b, c), step), env)
    assert any("share a bank" in row["text"] for row in env.report["notes"])


def test_chips_have_memories_of_their_own():
    a = local("a", 40000)
    func = kernel([A], *alloc(a), do("load", tile(a), piece(A)))
    assert addresses(func) == {"a": 0}
    with pytest.raises(UnsupportedError, match="160000"):
        addresses(func, environment(chip="bm1688"))
    assert memory_of(BM1690) == Memory(262144, 64, 16384)


# -- fills of tails -----------------------------------------------------------------------------------------------

ROWS = const(100, "int32") - tirx.Max(K * 64, const(36, "int32"))
COLUMNS = const(200, "int32") - tirx.Max(K * 64, const(136, "int32"))


def short(limit=64):
    return tirx.Or(tirx.LT(ROWS, const(limit, "int32")), tirx.LT(COLUMNS, const(limit, "int32")))


@pytest.mark.parametrize(
    ("limit", "asked", "carries"),
    [(64, True, False), (64, False, False), (63, True, False), (36, True, True), (32, False, True)],
)
def test_a_fill_and_a_load_make_a_whole(limit, asked, carries):
    """The fill is done where the load is not whole; one that is done too rarely leaves old elements. Tails of 100
    rows in steps of 64 have 64 or 36."""
    a, b = local("a"), local("b")
    zero = const(0, "int32")
    load = do("load", tile(a, ROWS, COLUMNS), piece(A, K * 64, ROWS, COLUMNS))
    some = tirx.And(tirx.GT(ROWS, zero), tirx.GT(COLUMNS, zero))
    step = [
        IfThenElse(short(limit), do("fill", tile(a), const(0.0, "float32")), None),
        IfThenElse(some, load, None) if asked else load,
        do("mul", tile(b), tile(a), tile(a)),
    ]
    body = loop("k", 2, *step, var=K)
    found = Lifetimes(seq([*alloc(a, b), body]), BM1690.lanes)
    assert found.carried.carries(body, a) == carries
