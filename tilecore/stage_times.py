"""The time of each stage of a compilation, as a table on stderr (``TILECORE_DEBUG=2``).

``recording`` stands around a compilation, ``stage`` around a part of it; stages may stand inside others. Each row of
the table has a stage's milliseconds and its part of the whole. What a stage or the whole spends between the parts
listed below it is in the row "other", so that the rows of each level add up. Without a recording, stages do nothing.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tilecore import debug

_SHOWN_MS = 0.005  # a remainder below this is rounding, not a stage
_state = threading.local()


@dataclass
class Stage:
    """A part of a compilation. seconds: with its parts. is_shown: whether its recording prints a table."""

    name: str
    seconds: float = 0.0
    parts: list[Stage] = field(default_factory=list)
    is_shown: bool = False

    def part(self, name: str) -> Stage:
        """The part of this name; a stage that is entered twice is one row."""
        for part in self.parts:
            if part.name == name:
                return part
        self.parts.append(Stage(name))
        return self.parts[-1]


@contextmanager
def recording(name: str, verbose: bool | None = None) -> Iterator[None]:
    """Records the stages in the block, and prints their table where a kernel was built or loaded in it.

    name: of the kernel. verbose: in place of TILECORE_VERBOSE. A recording directly inside another one, not inside one
    of its stages, adds to that. The compilation of a kernel in the body of another has its own table.
    """
    stack: list[Stage] | None = getattr(_state, "stack", None)
    if (stack is not None and len(stack) == 1) or debug.level(verbose) < debug.TIMES:
        yield
        return
    whole = Stage(name)
    _state.stack = [whole]
    collections = _Collections()
    gc.callbacks.append(collections)
    start = time.perf_counter()
    try:
        yield
    finally:
        whole.seconds += time.perf_counter() - start
        gc.callbacks.remove(collections)
        _state.stack = stack
        if whole.is_shown:
            debug.announce("\n".join(table(whole)))


class _Collections:
    """Makes a stage of each run of Python's garbage collector, which may happen in the middle of any other stage."""

    def __init__(self) -> None:
        self._running: Any = None

    def __call__(self, phase: str, facts: dict[str, int]) -> None:
        if phase == "start":
            self._running = stage("garbage collection of Python")
            self._running.__enter__()
        elif self._running is not None:
            self._running.__exit__(None, None, None)
            self._running = None


@contextmanager
def stage(name: str, *, is_shown: bool = False) -> Iterator[None]:
    """A stage of the compilation that is recorded. is_shown: its table is worth printing, as something was made."""
    stack: list[Stage] | None = getattr(_state, "stack", None)
    if stack is None:
        yield
        return
    entered = stack[-1].part(name)
    stack[0].is_shown |= is_shown
    stack.append(entered)
    start = time.perf_counter()
    try:
        yield
    finally:
        entered.seconds += time.perf_counter() - start
        stack.pop()


def rename(name: str) -> None:
    """Names the kernel of the recording, which knows its name only when its function has run."""
    stack: list[Stage] | None = getattr(_state, "stack", None)
    if stack:
        stack[0].name = name


def add_earlier(name: str, seconds: float) -> None:
    """A stage that ended before the recording began: its time counts as part of the whole."""
    stack: list[Stage] | None = getattr(_state, "stack", None)
    if stack and seconds:
        stack[0].part(name).seconds += seconds
        stack[0].seconds += seconds


def table(whole: Stage) -> list[str]:
    """The lines of the table: the whole, and below it the stages in the order in which they began."""
    total = whole.seconds or 1e-9
    lines = [f"time of {whole.name}: {whole.seconds * 1e3:.1f} ms"]

    def rows(of: Stage, indent: int) -> None:
        rest = of.seconds - sum(part.seconds for part in of.parts)
        others = [Stage("other", rest)] if of.parts and rest * 1e3 >= _SHOWN_MS else []
        for part in [*of.parts, *others]:
            label = "  " * indent + part.name
            lines.append(f"{label:40}{part.seconds * 1e3:10.2f} ms{part.seconds / total:7.1%}")
            rows(part, indent + 1)

    rows(whole, 1)
    return lines
