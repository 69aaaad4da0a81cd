"""Plain text for the command line: tables, notes, JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

_GREEN, _YELLOW, _RED = "32", "33", "31"
COLOURS = {"ok": _GREEN, "slow": _YELLOW, "missing": _YELLOW, "optional": _YELLOW, "unknown": _YELLOW, "off": _YELLOW}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their longest cell, two spaces apart."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = []
    for row in (head, *rows):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return "\n".join(lines)


def note(word: str, message: str, details: Iterable[tuple[str, str | None]] = (), indent: str = "") -> None:
    """``word: message``, then each detail that is there on a line of its own."""
    print(f"{indent}{coloured(word)}: {message}")
    for label, text in details:
        if text:
            print(f"{indent}  = {label}: {text}")


def size(count: float) -> str:
    """A number of bytes for people: 512 B, 1.5 MiB."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def counted(count: int, thing: str) -> str:
    """``1 kernel``, ``2 kernels``."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def coloured(word: str) -> str:
    """A status word, in its colour where the output is a terminal that wants colours."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return word
    return f"\033[{COLOURS.get(word, _RED)}m{word}\033[0m"


def dump(facts: Any) -> None:
    print(json.dumps(facts, indent=2, sort_keys=True))


def short(text: str, width: int = 48) -> str:
    """One line of at most ``width`` characters."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3] + "..."
