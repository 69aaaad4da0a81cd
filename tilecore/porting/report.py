"""What is to be said of a program: findings, notes and the imports that change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from tilecore.porting.rewrite import Rewrite


@dataclass(frozen=True)
class Finding:
    """Something that would not run, or that is to be noted. line and column: from 1. name: as it is written; "" for
    the file as a whole. instead: what to write; "" where nothing is known."""

    line: int
    column: int
    name: str
    problem: str
    instead: str = ""


@dataclass(frozen=True)
class Problem:
    """The findings of one problem with one advice, in the order of their places; each name is of one or several."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]


@dataclass
class FileReport:
    """What is to be said of one file.

    uses_tilelang: whether it imports TileLang, tilecore or TVM. notes: what the program needs besides; they do not
    count as something that would not run.
    """

    file: str
    uses_tilelang: bool = True
    findings: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    rewrite: Rewrite | None = None

    @property
    def would_run(self) -> bool:
        return not self.findings

    @property
    def imports(self) -> list[tuple[int, str]]:
        """The lines that import TileLang, as (line, what to write)."""
        return [] if self.rewrite is None else self.rewrite.changed_lines()

    def as_data(self) -> dict[str, Any]:
        """As data for JSON."""
        return {
            "file": self.file,
            "uses_tilelang": self.uses_tilelang,
            "would_run": self.would_run,
            "imports": [{"line": line, "write": text} for line, text in self.imports],
            "findings": [asdict(finding) for finding in self.findings],
            "notes": [asdict(note) for note in self.notes],
        }


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Each finding once, in the order of their places."""
    return sorted(dict.fromkeys(findings), key=lambda finding: (finding.line, finding.column, finding.name))


def problems(findings: Iterable[Finding]) -> list[Problem]:
    """The findings with the same problem and the same advice together, in the order of the first of each."""
    same: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        same.setdefault((finding.problem, finding.instead), []).append(finding)
    return [Problem(tuple(group)) for group in same.values()]
