"""Defines a candidate: one configuration and its state during the search."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilecore.autotune.configs import Config, in_words
from tilecore.errors import CacheError, TilecoreError

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.jit.build_jobs import Job


REFUSED = "refused"  # it is in no cache, and TILECORE_CACHED_ONLY forbids compiling it


@dataclass
class Candidate:
    """status: "new", then "compiled", "right" and "timed"; or what went wrong: "failed to compile", "failed to run",
    "timed out", "crashed", "wrong", REFUSED. reason: in words, when something did, and error: what it did not compile
    for. latency: milliseconds, once timed."""

    config: Config
    status: str = "new"
    reason: str = ""
    latency: float | None = None
    job: Job | None = None
    artifact: Artifact | None = None
    name: str = ""
    error: Exception | None = None

    @property
    def alive(self) -> bool:
        """Can it still win?"""
        return self.status in ("new", "compiled", "right", "timed")

    def drop(self, status: str, reason: Any) -> None:
        """It is out."""
        self.status = status
        self.reason = reason_of(reason)

    def not_compiled(self, error: Exception) -> None:
        """It is out, as it does not compile, or may not be compiled."""
        self.drop(REFUSED if isinstance(error, CacheError) else "failed to compile", error)
        self.error = error

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


def had_refusals(candidates: Sequence[Candidate]) -> bool:
    """Whether TILECORE_CACHED_ONLY has forbidden to compile a candidate: without it a search may find a better one."""
    return any(candidate.status == REFUSED for candidate in candidates)


def why_none(candidates: Sequence[Candidate]) -> str:
    """The reasons for dropping candidates; candidates with the same reason stand together."""
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


def table(candidates: Sequence[Candidate], width: int) -> str:
    """All candidates, the fastest first, as a table of at most so many columns of text."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    reasons = any(candidate.reason for candidate in candidates)
    rows = Table("configuration", "ms", "status", *(["reason"] if reasons else []))
    order = sorted(candidates, key=lambda c: (c.latency is None, c.latency or 0.0))
    for candidate in order:
        latency = "" if candidate.latency is None else f"{candidate.latency:.4f}"
        cells = [str(candidate), latency, candidate.status, *([candidate.reason] if reasons else [])]
        rows.add_row(*(Text(cell) for cell in cells))  # their brackets are no markup
    page = io.StringIO()
    Console(file=page, width=width, color_system=None).print(rows)
    return page.getvalue()
