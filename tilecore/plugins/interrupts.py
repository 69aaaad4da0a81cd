"""Delays Ctrl-C while processes are started, so that no process is left running."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def interrupted_later() -> Iterator[None]:
    """Ctrl-C is delivered at the end of the block, so that every started process is listed by then.

    Started processes inherit the blocked signal and call :func:`interrupted_again`.
    """
    if sys.platform == "win32":  # a process has no mask of signals
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def interrupted_again() -> None:
    """Unblock Ctrl-C in a new process."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
