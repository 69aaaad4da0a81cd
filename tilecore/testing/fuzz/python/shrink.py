"""Cuts a finding down: statements are left out while it stays one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tilecore.testing.fuzz.python.generate import Body, Line


def shrunk(body: Body, still: Callable[[Body], bool]) -> Body:
    """The smallest body found for which ``still`` holds."""
    while True:
        for smaller in _smaller(body.lines):
            candidate = replace(body, lines=smaller)
            if _holds(still, candidate):
                body = candidate
                break
        else:
            return body


def _holds(still: Callable[[Body], bool], body: Body) -> bool:
    try:
        return still(body)
    except Exception:  # without a statement before it, it is no program
        return False


def _smaller(lines: list[Line]) -> Iterator[list[Line]]:
    for at in reversed(range(len(lines))):
        line = lines[at]
        yield lines[:at] + lines[at + 1 :]
        if line.body:
            if line.text.startswith(("if", "else", "for", "while")):
                yield lines[:at] + line.body + lines[at + 1 :]
            for body in _smaller(line.body):
                yield [*lines[:at], Line(line.text, body), *lines[at + 1 :]]
