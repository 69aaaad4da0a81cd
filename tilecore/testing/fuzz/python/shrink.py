"""Reduces a finding by removing statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tilecore.testing.fuzz.python.generate import Body, Line


def shrink(body: Body, is_finding: Callable[[Body], bool]) -> Body:
    """Removes statements of the body as long as ``is_finding`` holds of it."""
    while True:
        for smaller in _smaller(body.lines):
            candidate = replace(body, lines=smaller)
            if _holds(is_finding, candidate):
                body = candidate
                break
        else:
            return body


def _holds(is_finding: Callable[[Body], bool], body: Body) -> bool:
    try:
        return is_finding(body)
    except Exception:  # the remaining statements may be no valid program
        return False


def _smaller(lines: list[Line]) -> Iterator[list[Line]]:
    for position in reversed(range(len(lines))):
        line = lines[position]
        yield lines[:position] + lines[position + 1 :]
        if line.body:
            if line.text.startswith(("if", "else", "for", "while")):
                yield lines[:position] + line.body + lines[position + 1 :]
            for body in _smaller(line.body):
                yield [*lines[:position], Line(line.text, body), *lines[position + 1 :]]
