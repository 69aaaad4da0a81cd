"""Importing a stranger's module without letting it change the process behind the user's back.

The exception hook, the signal handlers and ``sys.stdout`` are put back. Changes that others may rely on by now
(environment, working directory, warning filters) are left alone and reported.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO, cast

SLOW_SECONDS = 2.0
_watching_stdout = threading.Lock()  # one import at a time is watched for prints; others go unwatched, not wait


class PluginWarning(UserWarning):
    """A backend package did something while it was imported that a package should not do."""


@dataclass(frozen=True)
class LoadReport:
    """seconds: how long the import took. side_effects: what else it did, in words."""

    seconds: float
    side_effects: tuple[str, ...] = ()

    @property
    def slow(self) -> bool:
        return self.seconds > SLOW_SECONDS


def watched(who: str, function: Callable[[], Any]) -> tuple[Any, LoadReport]:
    """Call ``function`` (an import), clean up after it and warn of what else it did, naming ``who``.

    Its exceptions pass through, cleaned up after as well.
    """
    before = _Snapshot()
    start = time.perf_counter()
    try:
        result = function()
    finally:
        seconds = time.perf_counter() - start
        side_effects = before.restore()
    if side_effects:
        before.warn(f"{who}: its import {'; '.join(side_effects)}")
    return result, LoadReport(seconds, tuple(side_effects))


class _Echo:
    """Stands in for sys.stdout: what this thread prints goes to stderr and is remembered; other threads' passes."""

    def __init__(self, real: TextIO) -> None:
        self._real = real
        self._thread = threading.get_ident()
        self.text = ""

    def write(self, text: str) -> int:
        if threading.get_ident() != self._thread:
            return self._real.write(text)
        self.text += text
        return sys.stderr.write(text) if sys.stderr else len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Snapshot:
    def __init__(self) -> None:
        self.excepthook = sys.excepthook
        self.handlers = _signal_handlers()
        self.environment = dict(os.environ)
        self.directory = _working_directory()
        self.filters = list(warnings.filters)
        self.stdout = sys.stdout
        self.echo: _Echo | None = None
        if _watching_stdout.acquire(blocking=False):
            self.echo = _Echo(sys.stdout)
            sys.stdout = cast(TextIO, self.echo)

    def restore(self) -> list[str]:
        """Put back what must not stay changed; returns what was changed, in words."""
        notes = self._restore_stdout()
        if sys.excepthook is not self.excepthook:
            sys.excepthook = self.excepthook
            notes.append("replaced sys.excepthook (put back)")
        notes += self._restore_signals()
        changed = sorted(k for k in {*self.environment, *os.environ} if self.environment.get(k) != os.environ.get(k))
        if changed:
            notes.append(f"changed environment variables: {', '.join(changed)}")
        if _working_directory() != self.directory:
            notes.append(f"changed the working directory to {_working_directory()}")
        if any(_is_broad(item) for item in warnings.filters if item not in self.filters):
            notes.append("changed the warning filters for everybody")
        return notes

    def warn(self, text: str) -> None:
        """Under the filters of before, since the import may have silenced everybody."""
        with warnings.catch_warnings():
            warnings.filters[:] = self.filters  # type: ignore[index]
            warnings.warn(text, PluginWarning, stacklevel=2)

    def _restore_stdout(self) -> list[str]:
        if self.echo is None:
            return []
        notes = []
        if sys.stdout is not self.echo:
            notes.append("replaced sys.stdout (put back)")
        sys.stdout = self.stdout
        _watching_stdout.release()
        if self.echo.text.strip():
            notes.append(f"printed {self.echo.text.strip().splitlines()[0][:80]!r}")
        return notes

    def _restore_signals(self) -> list[str]:
        notes = []
        for number, handler in self.handlers.items():
            if signal.getsignal(number) != handler and handler is not None:
                signal.signal(number, handler)
                notes.append(f"replaced the handler of signal {number} (put back)")
        return notes


def _signal_handlers() -> dict[int, Any]:
    """Python-level handlers; only the main thread can put them back, and only it can change them."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {int(number): signal.getsignal(number) for number in signal.valid_signals()}


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return ""


def _is_broad(item: Any) -> bool:
    """A filter for every message of every module (libraries such as numpy add narrow ones, which harm nobody)."""
    _, message, _, module, _ = item
    return message is None and module is None
