"""Fragment layouts: digits, what follows from them, and the layouts that are made of them."""

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout, Free, spread, tiled

ACCUMULATOR = FragmentLayout(
    (16, 8),
    32,
    (
        Digit(0, 1, 8, THREAD, 4),
        Digit(0, 8, 2, REGISTER, 2),
        Digit(1, 1, 2, REGISTER, 1),
        Digit(1, 2, 4, THREAD, 1),
    ),
)


def elements(layout):
    """{element: {(thread, register)}} by enumeration of all threads and registers."""
    homes_by_place = {}
    for thread in range(layout.threads):
        for register in range(layout.registers):
            place = tuple(layout.indices(thread, register))
            if all(i < n for i, n in zip(place, layout.shape, strict=False)):
                homes_by_place.setdefault(place, set()).add((thread, register))
    return homes_by_place


@st.composite
def layouts(draw):
    """Random digits: each axis a product of small extents, partitioned over threads and registers with copies
    between."""
    digits, shape, stride = [], [], {THREAD: draw(st.sampled_from([1, 1, 2])), REGISTER: 1}
    for axis in range(draw(st.integers(1, 3))):
        place = 1
        for _ in range(draw(st.integers(0, 3))):
            extent, where = draw(st.sampled_from([2, 3, 4])), draw(st.sampled_from([THREAD, REGISTER]))
            if stride[where] * extent > (64 if where == THREAD else 32):
                where = REGISTER if where == THREAD else THREAD
            if stride[where] * extent > 64:
                break
            digits.append(Digit(axis, place, extent, where, stride[where]))
            place *= extent
            stride[where] *= extent * (draw(st.sampled_from([1, 1, 1, 2])) if where == THREAD else 1)
        shape.append(draw(st.integers(max(1, place // 2 + 1), place)) if place > 1 else 1)
    # the last digit of an axis may reach past its end, but no digit may be superfluous
    return FragmentLayout(tuple(shape), stride[THREAD] * draw(st.sampled_from([1, 2])), tuple(digits))


def test_the_accumulator_of_a_matrix_instruction():
    """PTX ISA, mma.m16n8k16, accumulators: row = lane / 4 (+ 8 for c2, c3), column = lane % 4 * 2 + (register & 1)."""
    for lane in range(32):
        for register in range(4):
            row, column = lane // 4 + (8 if register >= 2 else 0), lane % 4 * 2 + register % 2
            assert ACCUMULATOR.indices(lane, register) == [row, column]
            assert ACCUMULATOR.thread([row, column]) == lane
            assert ACCUMULATOR.register([row, column]) == register
    assert ACCUMULATOR.registers == 4
    assert not ACCUMULATOR.free


@settings(max_examples=200, deadline=None)
@given(layouts())
def test_every_element_is_somewhere_and_its_place_is_found(layout):
    homes_by_place = elements(layout)
    assert len(homes_by_place) == prod(layout.shape)
    copies = prod(f.extent for f in layout.free)
    for place, homes in homes_by_place.items():
        thread, register = layout.thread(place), layout.register(place)
        assert (thread, register) in homes
        assert {r for _, r in homes} == {register}  # copies are in the same register
        assert len(homes) == copies or layout.threads % copies


@settings(max_examples=200, deadline=None)
@given(layouts(), st.data())
def test_a_projection_holds_what_belongs_to_each_element(layout, data):
    axes = data.draw(st.permutations(range(len(layout.shape))))[: data.draw(st.integers(1, len(layout.shape)))]
    small = layout.project(axes)
    holders = {place: {t for t, _ in homes} for place, homes in elements(small).items()}
    for place, homes in elements(layout).items():
        assert {t for t, _ in homes} <= holders[tuple(place[a] for a in axes)]


@settings(max_examples=200, deadline=None)
@given(layouts(), layouts())
def test_covers_means_that_every_thread_has_what_it_needs(a, b):
    threads = max(a.threads, b.threads)
    for needed in (b, FragmentLayout(a.shape, threads, a.digits)):
        have = FragmentLayout(a.shape, threads, a.digits)
        need = FragmentLayout(needed.shape, threads, needed.digits)
        if have.shape != need.shape:
            assert not have.covers(need)
            continue
        holders = {p: {t for t, _ in homes} for p, homes in elements(have).items()}
        truth = all({t for t, _ in homes} <= holders[p] for p, homes in elements(need).items())
        assert not have.covers(need) or truth
    assert have.covers(have)


def test_copies_cover_what_is_not_copied():
    rows = ACCUMULATOR.project([0])
    assert rows.free == (Free(1, 4),)
    assert rows.registers == 2
    alone = FragmentLayout(
        (16,),
        32,
        (
            Digit(0, 1, 8, THREAD, 4),
            Digit(0, 8, 2, REGISTER, 1),
        ),
    )
    assert rows.covers(alone)
    assert alone.covers(rows)
    everywhere = FragmentLayout((16,), 32, (Digit(0, 1, 16, REGISTER, 1),))
    assert everywhere.covers(rows)
    assert not rows.covers(everywhere)


@pytest.mark.parametrize("shape", [(1, 4096), (64, 128), (128,), (3, 5), (1,), (7, 33), (2, 3, 40), (64, 48)], ids=str)
@pytest.mark.parametrize("threads", [32, 96, 128, 256])
@pytest.mark.parametrize("vector", [1, 4, 8])
def test_spread_deals_everything_out(shape, threads, vector):
    if shape[-1] % vector:
        vector = 1
    layout = spread(shape, threads, vector)
    homes_by_place = elements(layout)
    assert len(homes_by_place) == prod(shape)
    if vector > 1:  # neighbours in one thread, in registers in order
        for place in list(homes_by_place)[:: max(1, len(homes_by_place) // 50)]:
            first = (*place[:-1], place[-1] // vector * vector)
            assert layout.thread(place) == layout.thread(first)
            assert layout.register(place) - layout.register(first) == place[-1] % vector
    if prod(shape) % (threads * vector) == 0 and all(n & (n - 1) == 0 for n in (*shape, threads)):
        assert layout.registers == prod(shape) // threads
        assert not layout.free
    if prod(shape) > threads:
        assert layout.registers * threads < 2.5 * prod(shape) * max(1, prod(f.extent for f in layout.free))


def test_threads_of_a_spread_row_are_neighbours():
    layout = spread((16, 64), 128, vector=8)
    assert [layout.thread([0, 8 * i]) for i in range(8)] == list(range(8))
    assert layout.thread([1, 0]) == 8


def test_tiles_of_a_core():
    """64 x 32 over four warps: two along the rows, two along the columns."""
    layout = tiled(ACCUMULATOR, [(1, 2, REGISTER), (0, 2, REGISTER), (0, 2, THREAD), (1, 2, THREAD)], (64, 32))
    assert layout.threads == 128
    assert layout.registers == 16
    assert len(elements(layout)) == 64 * 32
    assert layout.thread([32, 0]) == 32
    assert layout.thread([0, 16]) == 64
    assert layout.register([0, 8]) == 4
    assert layout.register([16, 0]) == 8


@pytest.mark.parametrize(
    "digits",
    [
        [Digit(0, 2, 4, THREAD, 1)],  # a gap
        [Digit(0, 1, 4, THREAD, 1)],  # too short
        [Digit(0, 1, 8, THREAD, 8)],  # too far
        [Digit(0, 1, 2, THREAD, 1), Digit(0, 2, 4, THREAD, 1)],  # twice the same threads
        [Digit(0, 1, 8, REGISTER, 2)],  # registers left out
    ],
)
def test_digits_that_make_no_layout(digits):
    with pytest.raises(ValueError):
        FragmentLayout((8,), 16, tuple(digits))
