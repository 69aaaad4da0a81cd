"""The largest grids that a launch can have, as the runtime checks them (hipModuleLaunchKernel of ROCm's clr)."""

from __future__ import annotations

from tilecore.artifact.records import Entry

MOST_THREADS = 2**32 - 1  # of the whole grid along x
MOST_BLOCKS = (2**31 - 1, 65536, 65536)  # along x, y and z; some versions allow 65535 along y and z


def most_blocks(entry: Entry) -> tuple[int, int, int]:
    """The most blocks of a grid along x, y and z."""
    x, y, z = MOST_BLOCKS
    return min(x, MOST_THREADS // entry.threads[0]), y, z
