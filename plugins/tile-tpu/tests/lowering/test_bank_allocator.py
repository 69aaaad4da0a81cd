"""The allocation of local memory: buffers with overlapping live ranges do not overlap, and few share a bank."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tile_tpu.lowering.local_memory.bank_allocator import (
    Memory,
    Request,
    allocate,
    bank_conflicts,
    overlapping,
    peak_bytes,
)


@st.composite
def problems(draw):
    count = draw(st.integers(1, 14))
    requests = []
    for _ in range(count):
        first = draw(st.integers(0, 30))
        requests.append(Request(draw(st.integers(1, 40)) * 64, first, first + draw(st.integers(0, 12))))
    numbers = st.integers(0, count - 1)
    drawn = draw(st.dictionaries(st.tuples(numbers, numbers), st.integers(1, 50), max_size=12))
    pairs = {(min(p), max(p)): w for p, w in drawn.items() if p[0] != p[1]}
    return requests, pairs


@settings(max_examples=200, deadline=None)
@given(problems(), st.integers(1, 24))
def test_buffers_with_overlapping_live_ranges_never_overlap(problem, banks):
    requests, pairs = problem
    memory = Memory(512 * banks, 64, 512)
    addresses = allocate(requests, pairs, memory)
    if addresses is None:
        assert peak_bytes(requests) * 2 > memory.size  # nothing much smaller is refused
        return
    for i, (request_, address) in enumerate(zip(requests, addresses, strict=True)):
        assert address % 64 == 0
        assert 0 <= address <= memory.size - request_.size
        for other, other_address in list(zip(requests, addresses, strict=True))[:i]:
            assert (
                not request_.overlaps(other)
                or address + request_.size <= other_address
                or other_address + other.size <= address
            )


@settings(max_examples=50, deadline=None)
@given(problems())
def test_no_bank_conflicts_where_there_is_room(problem):
    requests, pairs = problem
    memory = Memory(64 * 4096, 64, 4096)
    addresses = allocate(requests, pairs, memory)
    assert addresses is not None
    assert not bank_conflicts(requests, addresses, pairs, memory.bank)


def test_unavoidable_conflicts_have_the_least_weight():
    requests = [Request(512, 0, 9), Request(512, 0, 9), Request(512, 0, 9)]
    memory = Memory(2048, 64, 1024)
    addresses = allocate(requests, {(0, 1): 100, (0, 2): 1, (1, 2): 100}, memory)
    assert addresses is not None
    assert bank_conflicts(requests, addresses, {(0, 1): 100, (0, 2): 1, (1, 2): 100}, 1024) == {(0, 2): 1}


@settings(max_examples=200, deadline=None)
@given(problems())
def test_overlaps_and_the_peak_are_those_of_every_pair(problem):
    requests, _ = problem
    for index, others in enumerate(overlapping(requests)):
        expected = [i for i, other in enumerate(requests) if i != index and other.overlaps(requests[index])]
        assert sorted(others) == expected
    live = [sum(other.size for other in requests if other.first <= r.first <= other.last) for r in requests]
    assert peak_bytes(requests) == max(live)
    assert peak_bytes([]) == 0
