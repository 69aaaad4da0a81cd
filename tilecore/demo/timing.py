"""How long a call takes, by the host's clock."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def median_ms(
    call: Callable[[], object], synchronize: Callable[[], object], budget: float = 0.25, most: int = 100
) -> float:
    """Median time of ``call`` in milliseconds, over 3 to ``most`` calls in about ``budget`` seconds after a warm-up.

    synchronize: waits until the device is idle.
    """
    call()
    synchronize()
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < 3 or (len(times) < most and time.perf_counter() < end):
        start = time.perf_counter()
        call()
        synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3
