"""Groups the findings of a target report by source line."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilecore.target_report.verdicts import TargetReport


def _as_user_wrote(name: str, file: str) -> str:
    """``file``, the path that the user gave, where ``name`` is the same file; else ``name``."""
    return file if Path(name).resolve() == Path(file).resolve() else name


@dataclass(frozen=True)
class Finding:
    """A message of one or several targets for a line. kind: "refused", "slow" or "note"; details: label, text."""

    targets: tuple[str, ...]
    kind: str
    text: str
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Line:
    """A line of a file with its findings. number: 1 for the first line; 0 for findings that belong to no line."""

    file: str
    number: int
    findings: tuple[Finding, ...]

    @property
    def source(self) -> str:
        return linecache.getline(self.file, self.number).rstrip("\n") if self.number else ""


def lines_of(report: TargetReport, kernel: str) -> list[Line]:
    """The lines of a kernel that have findings, in order. Findings that belong to no line come first."""
    targets_by_finding: dict[tuple[str, int], dict[tuple[str, str, tuple[tuple[str, str], ...]], list[str]]] = {}

    def add(file: str, line: int, kind: str, text: str, details: tuple[tuple[str, str], ...], target: str) -> None:
        targets = targets_by_finding.setdefault((file, line), {}).setdefault((kind, text, details), [])
        if target not in targets:
            targets.append(target)

    file = report.files.get(kernel, "")
    for verdict in report.verdicts:
        if verdict.kernel != kernel:
            continue
        for error in verdict.refusals:
            labelled = (("found", error.found), ("expected", error.expected), ("help", error.hint))
            details = tuple((label, text) for label, text in labelled if text)
            place = error.location
            where = (file, 0) if place is None else (_as_user_wrote(place.file, file), place.line)
            add(*where, verdict.state, error.message, details, verdict.target)
        for remark in verdict.remarks:
            add(file, remark.line or 0, "slow" if remark.slow else "note", remark.text, (), verdict.target)
    rank = {"slow": 1, "note": 2}
    lines = []
    for (name, number), findings in targets_by_finding.items():
        listed = [Finding(tuple(targets), kind, text, details) for (kind, text, details), targets in findings.items()]
        lines.append(Line(name, number, tuple(sorted(listed, key=lambda finding: rank.get(finding.kind, 0)))))
    return sorted(lines, key=lambda line: (line.number != 0, line.file != file, line.file, line.number))
