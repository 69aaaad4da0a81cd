"""Implements the cache in memory: bounded and thread-safe; several threads that need a value make it once."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from tilecore.errors import CacheError

V = TypeVar("V")


class _Flight:
    """A value that a thread is making."""

    def __init__(self) -> None:
        self.maker = threading.get_ident()
        self.landed = threading.Event()


class MemoryCache(Generic[V]):
    """At most ``capacity`` values by key; the least recently used goes first.

    While one thread makes a value, others that ask for the same key wait for it, and only they: there is no lock
    across keys. When making fails, the exception goes to the thread that made it and the next one tries again.
    """

    def __init__(self, capacity: int = 4096) -> None:
        if capacity < 1:
            raise CacheError("a memory cache holds at least one value", found=str(capacity))
        self.capacity = capacity
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._reset_locks()
        _forkable.add(self)

    def get(self, key: Hashable) -> V | None:
        """The value of ``key``, or None when there is none (yet)."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def get_or_make(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of ``key``; ``make()`` is called, by one thread, when there is none.

        Raises what ``make`` raises, and CacheError when ``make`` asks for its own key.
        """
        while True:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key]
                flight = self._flights.get(key)
                if flight is None:
                    mine = self._flights[key] = _Flight()
                    break
            if flight.maker == threading.get_ident():
                raise CacheError("making a cached value needs that same value", found=repr(key))
            flight.landed.wait()
        return self._make(key, make, mine)

    def put(self, key: Hashable, value: V) -> None:
        with self._lock:
            dropped = self._store(key, value)
        del dropped

    def clear(self) -> None:
        """Forget every value; values that are being made now are still stored."""
        with self._lock:
            dropped, self._values = self._values, OrderedDict()
        del dropped

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def _make(self, key: Hashable, make: Callable[[], V], flight: _Flight) -> V:
        try:
            value = make()
            with self._lock:
                dropped = self._store(key, value)
            del dropped
            return value
        finally:
            with self._lock:
                if self._flights.get(key) is flight:
                    del self._flights[key]
            flight.landed.set()

    def _store(self, key: Hashable, value: V) -> list[V]:
        """Store a value; returns the evicted values, which are dropped outside the lock: a finaliser may take time."""
        dropped = [self._values.pop(key)] if key in self._values else []
        self._values[key] = value
        while len(self._values) > self.capacity:
            dropped.append(self._values.popitem(last=False)[1])
        return dropped

    def _reset_locks(self) -> None:
        self._lock = threading.RLock()  # reentrant: the garbage collector may run a finaliser that asks the cache
        self._flights: dict[Hashable, _Flight] = {}


_forkable: weakref.WeakSet[MemoryCache] = weakref.WeakSet()


def _after_fork() -> None:
    # Threads of the parent that held a lock or made a value do not exist in the child.
    for cache in _forkable:
        cache._reset_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
