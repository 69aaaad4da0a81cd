"""Ctrl-C while processes are started: none is left behind."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def interrupted_later() -> Iterator[None]:
    """Ctrl-C waits for the end of the block: a process that is started and not yet listed would be left behind.

    What is started inherits this; it calls :func:`interrupted_again`.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def interrupted_again() -> None:
    """In a new process: Ctrl-C ends it, as any other."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
