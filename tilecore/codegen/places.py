"""Finds the user's line for a line of emitted C, which the emitter writes into comments: ``// file.py:12``."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLACE = re.compile(r"//.*?([^\s:()'\"]+\.\w+:\d+)")


def at(lines: Sequence[str], number: int) -> str:
    """A line of emitted source for messages: ``line 12: text (from file.py:3)``. number: the line, from 1."""
    emitted = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    place = user_line(lines, number)
    text = emitted.removesuffix(f"// {place}").rstrip()
    return f"line {number}: {text} (from {place})" if place else f"line {number}: {emitted}"


def user_line(lines: Sequence[str], number: int) -> str:
    """The user's ``file:line`` for line ``number`` (from 1) of the emitted source. It is in a comment on that line, or
    in the last comment above it in the same function; "" where there is none."""
    for text in reversed(lines[: max(number, 0)]):
        match = _PLACE.search(text)
        if match is not None:
            return match[1]
        if text.startswith(("}", "extern ")):
            return ""
    return ""
