"""For all tests: Ctrl-C as in a program that is started by hand.

A shell starts what runs in its background with SIGINT ignored, and so would everything that the tests start.
"""

from __future__ import annotations

import signal
import threading


def pytest_configure() -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
