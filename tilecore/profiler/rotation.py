"""Makes calls read their data from memory, not from caches: every call works on another copy of the inputs.

On the host this is better than emptying the caches, which takes the code away too: a call that takes 6 us took 50 to
80 us after that, as measured.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tilecore.profiler.arrays import copied
from tilecore.profiler.flush import flush_size

MOST_COPIES = 256


def rotating(program: Callable[..., Any], inputs: Sequence[Any], mebibytes: int | None = None) -> Callable[[], Any]:
    """A function that calls ``program`` on the inputs, then on copies of them, in turn.

    The copies together fill what a flush of that size would overwrite; small inputs do not, as there are at most 256.
    """
    size = max(1, sum(int(getattr(value, "nbytes", 0)) for value in inputs))
    count = min(-(-flush_size(mebibytes) // size), MOST_COPIES)
    sets = [list(inputs)] + [[copied(value) for value in inputs] for _ in range(count - 1)]
    rotation = itertools.cycle(sets)
    return lambda: program(*next(rotation))
