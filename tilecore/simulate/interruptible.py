"""Runs of a simulator that Ctrl-C ends: the simulator is told, and is over before anything goes on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

_LOOK = 0.1  # seconds


def _await(event: threading.Event) -> None:
    """Waits for ``event``, and for signals that the system gave to another thread: Python's handlers run in the main
    thread alone, which an untimed wait keeps asleep."""
    while not event.wait(_LOOK):
        pass


def run_interruptible(call: Callable[[], int], interrupt: Any, name: str) -> int:
    """What ``call`` gives, which runs in a thread of its own, so that the main thread hears of an interrupt.

    interrupt: a ctypes integer that the simulator looks at; set to 1 when something is raised here. That is raised
    again only when ``call`` is over, as the simulator works on memory that the caller lets go of then. name: the
    thread's.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    codes: list[int] = []
    over = threading.Event()  # a second join() of a thread returns at once where the first one was interrupted

    def run() -> None:
        try:
            codes.append(call())
        finally:
            over.set()

    threading.Thread(target=run, name=name).start()
    try:
        _await(over)
    except BaseException:
        interrupt.value = 1
        while not over.is_set():
            with contextlib.suppress(BaseException):  # the first one is raised
                _await(over)
        raise
    return codes[0]
