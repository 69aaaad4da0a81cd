"""Random programs: a race is reported exactly when two accesses are not ordered, by a reference written plainly."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from device_kit import compiled, needs_compiler, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilecore.simulate.errors import SimulationError
from tilecore.simulate.library import KernelLibrary

pytestmark = needs_compiler

THREADS, WARP, BYTES = 8, 4, 16
NOTHING, READ, WRITE, ATOMIC, BARRIER, WARP_BARRIER, NAMED = range(7)

# Every thread carries out its row of the table: (operation, first byte, bytes).
MACHINE = """
KERNEL machine(const int* table, int* sink, int steps) {
  TC_SHARED(shared);
  if (thread_x == 0) for (int i = 0; i < 16; ++i) shared[i] = 0;
  tc_barrier();
  for (int s = 0; s < steps; ++s) {
    const int* step = table + (s * threads_x + thread_x) * 3;
    unsigned char* p = shared + step[1];
    switch (step[0]) {
      case 1: {
        unsigned long long value = 0;
        tc_sim_load(&value, p, step[2], 1, TC_LINE);
        sink[thread_x] = int(value);
        break;
      }
      case 2: {
        const unsigned long long value = s + 1;
        tc_sim_store(p, &value, step[2], 1, TC_LINE);
        break;
      }
      case 3: tc_atomic_add((unsigned*)p, 1u); break;
      case 4: tc_barrier(); break;
      case 5: tc_warp_barrier(); break;
      case 6: tc_named_barrier(1, 4); break;
    }
  }
}
"""
_LIBRARY: list[KernelLibrary] = []


@dataclass(frozen=True)
class Step:
    operation: int
    first: int = 0
    size: int = 1

    def conflicts(self, other: Step) -> bool:
        if not (READ <= self.operation <= ATOMIC and READ <= other.operation <= ATOMIC):
            return False
        if self.operation == other.operation and self.operation in (READ, ATOMIC):
            return False
        return self.first < other.first + other.size and other.first < self.first + self.size


def accesses():
    sized = st.sampled_from([(4 * i, 4) for i in range(4)] + [(2 * i, 2) for i in range(8)] + [(3, 1), (8, 8), (0, 8)])
    plain = st.builds(lambda operation, at: Step(operation, *at), st.sampled_from([READ, READ, WRITE]), sized)
    atomic = st.integers(0, 3).map(lambda i: Step(ATOMIC, 4 * i, 4))
    return st.one_of(st.just(Step(NOTHING)), st.just(Step(NOTHING)), st.just(Step(NOTHING)), plain, atomic)


# Who waits for whom in one row: everybody; each warp; or two threads of each warp.
ROWS = st.one_of(
    st.lists(accesses(), min_size=THREADS, max_size=THREADS),
    st.lists(accesses(), min_size=THREADS, max_size=THREADS),
    st.just([Step(BARRIER)] * THREADS),
    st.just([Step(WARP_BARRIER)] * THREADS),
    st.just([Step(NAMED) if t % WARP < 2 else Step(NOTHING) for t in range(THREADS)]),
)


def meeting(row: list[Step], thread: int) -> set[int]:
    """The threads that meet at a row, seen from one of them."""
    operation = row[thread].operation
    if operation == BARRIER:
        return set(range(THREADS))
    if operation == WARP_BARRIER:
        return {t for t in range(THREADS) if t // WARP == thread // WARP}
    return {t for t in range(THREADS) if row[t].operation == NAMED} if operation == NAMED else {thread}


def has_race(program: list[list[Step]]) -> bool:
    """By what every thread has seen of every other: the number of its rows."""
    seen = [[0] * THREADS for _ in range(THREADS)]
    events: list[tuple[int, int, Step, list[int]]] = []  # thread, row, access, seen by then
    for number, row in enumerate(program, 1):
        for thread in range(THREADS):
            seen[thread][thread] = number
            events.append((thread, number, row[thread], list(seen[thread])))
        merged = [
            [max(seen[other][t] for other in meeting(row, thread)) for t in range(THREADS)] for thread in range(THREADS)
        ]
        seen = merged
    return any(
        a[0] != b[0] and a[2].conflicts(b[2]) and b[3][a[0]] < a[1] and a[3][b[0]] < b[1]
        for a, b in combinations(events, 2)
    )


@given(st.lists(ROWS, min_size=1, max_size=8), st.integers(0, 2**32))
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_races_are_what_nothing_orders(program, seed):
    if not _LIBRARY:
        _LIBRARY.append(compiled(MACHINE))
    table = np.array([[(s.operation, s.first, s.size) for s in row] for row in program], np.int32)
    arguments = ("table", table, "r"), ("sink", np.zeros(THREADS, np.int32), "w")
    try:
        run(_LIBRARY[0], THREADS, *arguments, len(program), shared=BYTES, seed=seed, warp=WARP)
        refusal = None
    except SimulationError as error:
        refusal = error
    assert (refusal is not None) == has_race(program), str(refusal)
    if refusal is not None:
        assert (refusal.kind, refusal.tensor) == ("race", "shared memory")
        assert refusal.thread != refusal.other.thread
