"""Keeps Python's cyclic garbage collector from running in the middle of a compilation."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_was_enabled = False


@contextmanager
def collection_paused() -> Iterator[None]:
    """No collection inside, whichever thread; as it was when the last one leaves.

    Compiling, and even fetching a kernel from the cache, makes enough objects to start a full collection, which looks
    at every object of the process: 0.1 s with torch loaded, many times what the work itself takes.
    """
    global _inside, _was_enabled
    with _lock:
        if _inside == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _was_enabled:
                gc.enable()
