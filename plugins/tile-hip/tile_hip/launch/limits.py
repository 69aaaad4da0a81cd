"""The largest grids that a launch can have."""

from __future__ import annotations

from tilecore.artifact.records import Entry

MOST_THREADS = 2**32 - 1  # of the whole grid along one axis: packets of the queue count them in 32 bits (AQL, HSA 1.2)


def most_blocks(entry: Entry) -> tuple[int, int, int]:
    """The most blocks of a grid along x, y and z."""
    x, y, z = (min(MOST_THREADS // threads, 2**31 - 1) for threads in entry.threads)
    return x, y, z
