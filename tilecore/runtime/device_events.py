"""Timing by the events of a GPU driver: what the timers of all backends that launch through one share."""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol


class EventDriver(Protocol):
    """What a timer calls of a driver. library: its functions. call: calls one by name, and raises where it fails.
    inside: makes a device current."""

    library: Any

    def call(self, name: str, *args: Any) -> None: ...
    def inside(self, index: int) -> AbstractContextManager[Any]: ...


class DeviceEventTimer:
    """Measures the milliseconds between ``start`` and ``stop`` on one stream of the device.

    A backend names the driver's functions. create_arguments: those of ``create`` behind the event.
    """

    create: ClassVar[str]
    create_arguments: ClassVar[tuple[int, ...]] = ()
    record: ClassVar[str]
    synchronize: ClassVar[str]
    destroy: ClassVar[str]

    def __init__(self, driver: EventDriver, index: int, stream: int) -> None:
        self._driver = driver
        self._index = index
        self._stream = ctypes.c_void_p(stream)
        self._events = (ctypes.c_void_p(), ctypes.c_void_p())
        with driver.inside(index):
            for event in self._events:
                driver.call(self.create, ctypes.byref(event), *self.create_arguments)

    def elapsed_function(self) -> str:
        """The name of ``int f(float *milliseconds, start, stop)``."""
        raise NotImplementedError

    def start(self) -> None:
        self._record(0)

    def stop(self) -> None:
        self._record(1)

    def elapsed(self) -> float:
        """The milliseconds; waits until the device has reached ``stop``."""
        milliseconds = ctypes.c_float()
        with self._driver.inside(self._index):
            self._driver.call(self.synchronize, self._events[1])
            self._driver.call(self.elapsed_function(), ctypes.byref(milliseconds), *self._events)
        return milliseconds.value

    def _record(self, event_index: int) -> None:
        with self._driver.inside(self._index):
            self._driver.call(self.record, self._events[event_index], self._stream)

    def __del__(self) -> None:
        for event in getattr(self, "_events", ()):
            if event.value:
                getattr(self._driver.library, self.destroy)(event)
                event.value = None
