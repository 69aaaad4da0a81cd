"""Times kernels by the clock of the GPU."""

from __future__ import annotations

import threading


class Clock:
    """Adds up the seconds that kernels took on the GPU, by the GPU's clock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        with self._lock:
            self.seconds += seconds


class GpuTimer:
    """Milliseconds on the GPU between start and stop: the sum over the kernels, without the pauses between them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begin = self._end = 0.0

    def start(self) -> None:
        self._begin = self._clock.seconds

    def stop(self) -> None:
        self._end = self._clock.seconds

    def elapsed(self) -> float:
        return (self._end - self._begin) * 1e3
