"""Runs of a simulator that Ctrl-C ends: the simulator is told, and is over before anything goes on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from tilecore.interrupts import held_back, safe_point

_LOOK = 0.1  # seconds after which the main thread looks for signals, which the system may give to any thread


def run_interruptible(call: Callable[[], int], interrupt: Any, name: str) -> int:
    """What ``call`` gives, which runs in a thread of its own, so that the main thread hears of an interrupt.

    interrupt: a ctypes integer that the simulator looks at; set to 1 when something is raised here. That is raised
    again only when ``call`` is over, as the simulator works on memory that the caller lets go of then. name: the
    thread's.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    codes: list[int] = []
    over = threading.Event()

    def run() -> None:
        try:
            codes.append(call())
        finally:
            over.set()

    with held_back():  # signals are handled at the safe point alone, when the thread runs
        threading.Thread(target=run, name=name).start()
        try:
            while not over.wait(_LOOK):
                safe_point()
        except BaseException:
            interrupt.value = 1
            while not over.is_set():
                with contextlib.suppress(BaseException):  # the first one is raised
                    over.wait(_LOOK)
            raise
    return codes[0]
