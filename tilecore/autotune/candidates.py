"""One configuration on its way through the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilecore.autotune.configs import Config, in_words
from tilecore.errors import TilecoreError
from tilecore.jit.build_jobs import Job
from tilecore.runtime.artifact import Artifact


@dataclass
class Candidate:
    """status: "new", then "compiled", "right" and "timed"; or what went wrong: "failed to compile", "failed to run",
    "timed out", "crashed", "wrong". reason: in words, when something did. latency: milliseconds, once timed."""

    config: Config
    status: str = "new"
    reason: str = ""
    latency: float | None = None
    job: Job | None = None
    artifact: Artifact | None = None
    name: str = ""

    @property
    def alive(self) -> bool:
        """Can it still win?"""
        return self.status in ("new", "compiled", "right", "timed")

    def drop(self, status: str, reason: Any) -> None:
        """It is out."""
        self.status = status
        self.reason = reason_of(reason)

    def __str__(self) -> str:
        return in_words(self.config) or "(no tunables set)"


def reason_of(error: Any) -> str:
    """An error in words, its type where the words alone would not do."""
    if isinstance(error, str):
        return error
    text = str(error).strip()
    if isinstance(error, (TilecoreError, AssertionError)) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def why_none(candidates: Sequence[Candidate]) -> str:
    """Why each was dropped; candidates with one reason are named together."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for candidate in candidates:
        reasons.setdefault((candidate.status, candidate.reason), []).append(str(candidate))
    lines = []
    for (status, reason), names in reasons.items():
        lines += [f"[{name}]" for name in names[:5]]
        if len(names) > 5:
            lines.append(f"and {len(names) - 5} more")
        lines.append("    " + f"{status}: {reason}".replace("\n", "\n    "))
    return "\n".join(lines)


def show(candidates: Sequence[Candidate]) -> None:
    """Print all candidates, the fastest first, on standard error."""
    from rich.console import Console
    from rich.table import Table

    reasons = any(candidate.reason for candidate in candidates)
    table = Table("configuration", "ms", "status", *(["reason"] if reasons else []))
    order = sorted(candidates, key=lambda c: (c.latency is None, c.latency or 0.0))
    for candidate in order:
        latency = "" if candidate.latency is None else f"{candidate.latency:.4f}"
        table.add_row(str(candidate), latency, candidate.status, *([candidate.reason] if reasons else []))
    Console(stderr=True).print(table)
