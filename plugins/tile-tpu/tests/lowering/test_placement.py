"""Placing pieces of memory: none over another that lives at the same time, and few in one bank."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tile_tpu.lowering.placement import Memory, Piece, conflicts, most_alive, place


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
