"""Keeps Python's cyclic garbage collector from running in the middle of a compilation."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_was_enabled = False
_mine = threading.local()  # how often this thread is inside


@contextmanager
def collection_paused() -> Iterator[None]:
    """No garbage collection runs inside the block, in any thread. The last thread that leaves restores the setting.

    Compiling, and even fetching a kernel from the cache, makes enough objects to start a full collection, which looks
    at every object of the process: 0.1 s with torch loaded, many times what the work itself takes.
    """
    global _inside, _was_enabled
    with _lock:
        if _inside == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _inside += 1
    _mine.depth = getattr(_mine, "depth", 0) + 1
    try:
        yield
    finally:
        _mine.depth -= 1
        with _lock:
            _inside -= 1
            if _inside == 0 and _was_enabled:
                gc.enable()


def _after_fork() -> None:
    """In a forked child only the thread that forked lives on: what the others were doing there has ended."""
    global _lock, _inside
    _lock = threading.Lock()
    inside, _inside = _inside, getattr(_mine, "depth", 0)
    if inside and not _inside and _was_enabled:
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
