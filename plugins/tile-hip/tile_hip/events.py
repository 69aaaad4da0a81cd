"""Timing by HIP events."""

from __future__ import annotations

import ctypes

from tile_hip.driver import Driver


class EventTimer:
    """Measures the milliseconds between ``start`` and ``stop`` on one stream of the device."""

    def __init__(self, driver: Driver, index: int, stream: int) -> None:
        self._driver = driver
        self._index = index
        self._stream = ctypes.c_void_p(stream)
        self._events = (ctypes.c_void_p(), ctypes.c_void_p())
        with driver.inside(index):
            for event in self._events:
                driver.call("hipEventCreate", ctypes.byref(event))

    def start(self) -> None:
        self._record(0)

    def stop(self) -> None:
        self._record(1)

    def elapsed(self) -> float:
        """The milliseconds; waits until the device has reached ``stop``."""
        milliseconds = ctypes.c_float()
        with self._driver.inside(self._index):
            self._driver.call("hipEventSynchronize", self._events[1])
            self._driver.call("hipEventElapsedTime", ctypes.byref(milliseconds), *self._events)
        return milliseconds.value

    def _record(self, event_index: int) -> None:
        with self._driver.inside(self._index):
            self._driver.call("hipEventRecord", self._events[event_index], self._stream)

    def __del__(self) -> None:
        for event in getattr(self, "_events", ()):
            if event.value:
                self._driver.library.hipEventDestroy(event)
                event.value = None
