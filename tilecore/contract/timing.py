"""Timers for work on a device."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Measures the time of work that is launched between ``start`` and ``stop``; each is called once, in that order."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def elapsed(self) -> float:
        """Milliseconds between the two; may wait for the device."""
        ...


class HostTimer:
    """Times by the host's clock. synchronize: waits for the device; called at start and stop."""

    def __init__(self, synchronize: Callable[[], None] | None = None) -> None:
        self._synchronize = synchronize
        self._begin = self._end = 0

    def start(self) -> None:
        if self._synchronize is not None:
            self._synchronize()
        self._begin = time.perf_counter_ns()

    def stop(self) -> None:
        if self._synchronize is not None:
            self._synchronize()
        self._end = time.perf_counter_ns()

    def elapsed(self) -> float:
        """Milliseconds between start and stop."""
        return (self._end - self._begin) / 1e6
