"""Imports a plugin's module, undoes changes of process state and warns of them.

The exception hook, the signal handlers and ``sys.stdout`` are restored. Other changes (environment, working directory,
warning filters) stay, because other code may rely on them, and are reported.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, TextIO, cast

from tilecore.frozen_dataclasses import frozen

SLOW_SECONDS = 2.0
_watching_stdout = threading.Lock()  # output is watched for one import at a time; imports do not wait for it


class PluginWarning(UserWarning):
    """The import of a backend package has side effects on the process, or its target was skipped."""


@frozen
class LoadReport:
    """A report of an import. seconds: its time. side_effects: phrases that describe its side effects."""

    seconds: float
    side_effects: tuple[str, ...] = ()

    @property
    def slow(self) -> bool:
        return self.seconds > SLOW_SECONDS


def watched(origin_title: str, function: Callable[[], Any]) -> tuple[Any, LoadReport]:
    """Call ``function`` (an import), restore the process state and warn of side effects.

    The function's exceptions are raised after the state is restored.
    """
    before = _Snapshot()
    start = time.perf_counter()
    try:
        result = function()
    finally:
        seconds = time.perf_counter() - start
        side_effects = before.restore()
    if side_effects:
        before.warn(f"{origin_title}: its import {'; '.join(side_effects)}")
    return result, LoadReport(seconds, tuple(side_effects))


class _Echo:
    """Replaces sys.stdout: output of this thread goes to stderr and is recorded; other threads' output is unchanged."""

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
        """Restore the state; returns a phrase for each change."""
        notes = self._restore_stdout()
        if sys.excepthook is not self.excepthook:
            sys.excepthook = self.excepthook
            notes.append("replaced sys.excepthook (restored)")
        notes += self._restore_signals()
        changed = sorted(k for k in {*self.environment, *os.environ} if self.environment.get(k) != os.environ.get(k))
        if changed:
            notes.append(f"changed environment variables: {', '.join(changed)}")
        if _working_directory() != self.directory:
            notes.append(f"changed the working directory to {_working_directory()}")
        if any(_is_broad(item) for item in warnings.filters if item not in self.filters):
            notes.append("changed the warning filters of the process")
        return notes

    def warn(self, text: str) -> None:
        """Warn under the filters from before the import, since the import may have silenced all warnings."""
        with warnings.catch_warnings():
            warnings.filters[:] = self.filters  # type: ignore[index]
            warnings.warn(text, PluginWarning, stacklevel=2)

    def _restore_stdout(self) -> list[str]:
        if self.echo is None:
            return []
        notes = []
        if sys.stdout is not self.echo:
            notes.append("replaced sys.stdout (restored)")
        sys.stdout = self.stdout
        _watching_stdout.release()
        if self.echo.text.strip():
            notes.append(f"printed {self.echo.text.strip().splitlines()[0][:80]!r}")
        return notes

    def _restore_signals(self) -> list[str]:
        notes = []
        for signal_number, handler in self.handlers.items():
            if signal.getsignal(signal_number) != handler and handler is not None:
                signal.signal(signal_number, handler)
                notes.append(f"replaced the handler of signal {signal_number} (restored)")
        return notes


def _signal_handlers() -> dict[int, Any]:
    """Python-level signal handlers; {} outside of the main thread, which cannot change them."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {int(signal_number): signal.getsignal(signal_number) for signal_number in signal.valid_signals()}


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return ""


def _is_broad(item: Any) -> bool:
    """Whether a filter applies to every message of every module (filters of one module or message are harmless)."""
    _, message, _, module, _ = item
    return message is None and module is None
