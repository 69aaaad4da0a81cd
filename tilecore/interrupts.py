"""Ctrl-C while the compiler works: it waits for the next safe point, so that nothing is interrupted halfway.

Passes run Python functions that TVM's C++ calls. An exception that a signal's handler raises there does not get
through: TVM turns it into a RuntimeError without a word, or damages the heap. So in the main thread signals wait::

    with held_back():
        for step in steps:
            run(step)
            safe_point()          # a signal that came meanwhile is handled here

A signal that comes again FORCE_SECONDS after the first, or has waited for PATIENCE_SECONDS, is handled at once,
wherever that is; what its handler raised is raised again at the end of the block, whatever became of it in between.
"""

from __future__ import annotations

import _signal
import _thread
import os
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

FORCE_SECONDS = 1.0
PATIENCE_SECONDS = 10.0

# Signals whose handlers raise. Those of profilers are left alone: they want to see where the program is.
_SIGNALS = tuple(
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGBREAK")
    if hasattr(signal, name)
)

_current: held_back | None = None  # the outermost block of the main thread


class held_back:
    """Context manager: signals with a handler in Python wait for a :func:`safe_point` or the end of the block.

    Blocks may be nested; the outermost counts. In other threads, which hear of no signal, it does nothing.
    """

    __slots__ = ("_handlers", "_open", "_outermost", "_raised", "_waiting")

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}  # of the signals that this block holds back, as they were
        self._waiting: dict[int, float] = {}  # signals that came, and when
        self._raised: BaseException | None = None
        self._open = False  # while it is not, signals go straight to the handlers as they were
        self._outermost = False

    def __enter__(self) -> None:
        global _current
        if not _in_main_thread() or (_current is not None and _current._open):
            return
        _current = self
        self._outermost = True
        try:
            for number in _SIGNALS:
                handler = _bare(number)
                if callable(handler):
                    self._handlers[number] = handler
                    _signal.signal(number, self._arrived)
        except ValueError:  # an interpreter beside the main one: signals are not its own
            return
        self._open = True  # the last step: from here on nothing is raised

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._outermost:
            return
        self._open = False
        for number, handler in self._handlers.items():
            if _owner(_signal.getsignal(number)) is self:
                _signal.signal(number, handler)
        raised, self._raised = self._raised, None
        if raised is not None and raised is not error:
            raise raised
        self._deliver()

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        """The handler of every signal that is held back."""
        if not self._open:
            self._handlers[number](number, frame)
            return
        now = time.monotonic()
        first = self._waiting.setdefault(number, now)
        if first == now:
            _thread.start_new_thread(self._lose_patience, (number,))
        elif now - first >= FORCE_SECONDS:
            self._deliver(frame)

    def _lose_patience(self, number: int) -> None:
        """Runs in a thread of its own: what waits for too long comes a second time."""
        time.sleep(PATIENCE_SECONDS)
        if self._open and number in self._waiting:
            _thread.interrupt_main(signal.Signals(number))

    def _deliver(self, frame: FrameType | None = None) -> None:
        while self._waiting:
            number, _ = self._waiting.popitem()
            try:
                self._handlers[number](number, frame)
            except BaseException as error:
                self._raised = error
                raise


def safe_point() -> None:
    """Handle the signals that have come. To be called where no foreign code is on the stack, and state is whole."""
    block = _current
    if block is not None and block._waiting and block._open and _in_main_thread():
        block._deliver()


def _after_fork() -> None:
    """In a forked child a block of the parent's holds nothing back: the thread that would end it may not be there."""
    if _current is not None:
        _current._open = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _owner(handler: Any) -> held_back | None:
    """The block whose handler this is."""
    block = getattr(handler, "__self__", None)
    return block if isinstance(block, held_back) else None


def _bare(number: int) -> Any:
    """The handler of a signal, below those of blocks that an interrupt kept from taking theirs back."""
    handler = _signal.getsignal(number)
    while (block := _owner(handler)) is not None:
        handler = block._handlers[number]
    return handler
