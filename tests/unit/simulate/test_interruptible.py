"""What a simulator works on outlives an interrupted run."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time

import pytest

from tilecore.simulate.interruptible import run_interruptible


@pytest.fixture(autouse=True)
def handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def to_this_thread():
    signal.raise_signal(signal.SIGINT)


def to_the_process():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("interrupts", [to_this_thread, to_the_process])
@pytest.mark.parametrize("delay", [0, 0.3])  # before the main thread waits, and while it does
def test_an_interrupt_is_raised_when_the_run_is_over(interrupts, delay):
    interrupt, over = ctypes.c_int(0), []

    def call():
        time.sleep(delay)
        interrupts()
        while not interrupt.value:
            time.sleep(0.01)
        interrupts()  # a second one in between
        time.sleep(0.3)
        over.append(True)
        return 0

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(call, interrupt, "a simulator")
    assert over == [True]


def test_codes_and_other_threads():
    interrupt, codes = ctypes.c_int(0), []
    assert run_interruptible(lambda: 7, interrupt, "a simulator") == 7
    other = threading.Thread(target=lambda: codes.append(run_interruptible(lambda: 8, interrupt, "a simulator")))
    other.start()
    other.join()
    assert codes == [8]
    assert not interrupt.value
