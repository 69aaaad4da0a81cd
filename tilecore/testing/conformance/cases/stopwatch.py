"""How fast one thing is beside another, measured in turns on one machine."""

from __future__ import annotations

import time
from collections.abc import Callable

LEAST = 3e-4  # seconds of one measurement: the clock's own steps do not count, and others seldom come between
ROUNDS, LONG = 15, 0.4  # at least so many, and for so many seconds
ATTEMPTS = 4  # others use the machine too: what reaches the floor once reaches it

Call = Callable[[], object]


def seconds(call: Call, wait: Call, often: int) -> float:
    """Of one call, of so many launched together."""
    start = time.perf_counter()
    for _ in range(often):
        call()
    wait()
    return (time.perf_counter() - start) / often


def how_often(call: Call, wait: Call) -> int:
    """How many calls a measurement takes; the first ones warm up."""
    seconds(call, wait, 2)
    often = 1
    while often < 1 << 20 and seconds(call, wait, often) * often < LEAST:
        often *= 2
    return often


def shortest(*calls: Call, wait: Call) -> list[float]:
    """Seconds of each call: in every round one measurement of each, and the shortest of them, as whatever else the
    machine does only adds."""
    counts = [how_often(call, wait) for call in calls]
    shortest_times = [float("inf")] * len(calls)
    start, rounds = time.perf_counter(), 0
    while rounds < ROUNDS or time.perf_counter() - start < LONG:
        times = (seconds(call, wait, often) for call, often in zip(calls, counts, strict=True))
        shortest_times = [min(pair) for pair in zip(shortest_times, times, strict=True)]
        rounds += 1
    return shortest_times


def best(measure: Callable[[], float], floor: float) -> float:
    """The largest of a few measurements, up to the first that reaches the floor."""
    best_ratio = 0.0
    for _ in range(ATTEMPTS):
        best_ratio = max(best_ratio, measure())
        if best_ratio >= floor:
            break
    return best_ratio
