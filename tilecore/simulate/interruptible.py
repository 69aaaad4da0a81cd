"""Runs a simulator so that Ctrl-C stops it, and waits until it has stopped before the exception is raised."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from tilecore.interrupts import held_back, safe_point

_POLL = 0.1  # seconds between the main thread's checks for signals, which the system may deliver to any thread


def run_interruptible(call: Callable[[], int], interrupt: Any, name: str) -> int:
    """The result of ``call``, which runs in a thread of its own, so that the main thread can handle an interrupt.

    interrupt: a ctypes integer that the simulator polls; it becomes 1 when an exception is raised here. The exception
    is raised again only after ``call`` has returned, as the simulator uses memory that the caller frees then. name: of
    the thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    codes: list[int] = []
    has_ended = threading.Event()

    def run() -> None:
        try:
            codes.append(call())
        finally:
            has_ended.set()

    with held_back():  # signals are handled at the safe point alone, when the thread runs
        threading.Thread(target=run, name=name).start()
        try:
            while not has_ended.wait(_POLL):
                safe_point()
        except BaseException:
            interrupt.value = 1
            while not has_ended.is_set():
                with contextlib.suppress(BaseException):  # the first one is raised
                    has_ended.wait(_POLL)
            raise
    return codes[0]
