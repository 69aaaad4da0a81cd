"""What came out: every case, the groups, the highest level that holds; as JSON and as a table."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilecore.testing.conformance import LEVELS
from tilecore.whole_files import write_whole

MEASURED = "measured"  # a property of a test: [table, row, column, number]
OUTCOMES = ("passed", "failed", "skipped", "xfailed", "xpassed")


def reached(levels: Mapping[Any, str]) -> int:
    """The highest of the levels, which are numbers or texts of them, that passed, with all below; -1 for none."""
    highest = -1
    for level in sorted(levels, key=int):
        if levels[level] in ("failed", "unfinished"):
            break
        highest = int(level) if levels[level] == "passed" else highest
    return highest


@dataclass
class Case:
    """One test. level: at which it counts; reason: why it was skipped, is expected to fail, or failed."""

    name: str
    group: str
    level: int
    outcome: str
    reason: str = ""
    seconds: float = 0.0


@dataclass
class Report:
    """The cases of one place. simulated: whether kernels run without their device. measured: numbers that cases found,
    by table, row and column. interrupted: whether the run ended before its cases did."""

    place: str
    simulated: bool
    facts: dict[str, Any] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    measured: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    interrupted: bool = False

    def measure(self, table: str, row: str, column: str, number: float) -> None:
        """Keep a number; the largest where several cases find one."""
        numbers = self.measured.setdefault(table, {}).setdefault(row, {})
        numbers[column] = max(number, numbers.get(column, number))

    def levels(self) -> dict[int, str]:
        """Each level that was tried: "passed", "failed", or "skipped" where no case could run. One holds if all of its
        cases and those below do; "unfinished", where some of them may not have run."""
        levels: dict[int, str] = {}
        failed = False
        for level in sorted({case.level for case in self.cases}):
            outcomes = {case.outcome for case in self.cases if case.level == level}
            failed = failed or bool(outcomes & {"failed", "xpassed"})
            passed = "skipped" if outcomes == {"skipped"} else "passed"
            levels[level] = "failed" if failed else "unfinished" if self.interrupted else passed
        return levels

    def reached(self) -> int:
        """The highest level that holds; -1 for none."""
        return reached(self.levels())

    def groups(self) -> dict[str, Counter[str]]:
        groups: dict[str, Counter[str]] = {}
        for case in self.cases:
            groups.setdefault(case.group, Counter())[case.outcome] += 1
        return dict(sorted(groups.items()))

    def data(self) -> dict[str, Any]:
        return {
            "place": self.place,
            "simulated": self.simulated,
            "date": time.strftime("%Y-%m-%d"),
            **self.facts,
            "levels": {str(level): word for level, word in self.levels().items()},
            "reached": self.reached(),
            "interrupted": self.interrupted,
            "groups": {name: dict(counts) for name, counts in self.groups().items()},
            "skipped": dict(Counter(c.reason for c in self.cases if c.outcome == "skipped")),
            "measured": self.measured,
            "seconds": round(sum(case.seconds for case in self.cases), 1),
            "cases": [vars(case) for case in self.cases if case.outcome != "passed"],
        }


def write(path: Path, reports: list[Report]) -> None:
    write_whole(path, json.dumps([report.data() for report in reports], indent=1) + "\n")


def table(report: Report) -> str:
    """Groups by outcomes, the levels, and what was skipped for what reason."""
    width = max([len(name) for name in report.groups()] + [5])
    lines = [f"{report.place}{', simulated' if report.simulated else ''}", ""]
    lines.append(" ".join([f"{'group':{width}}", *(f"{word:>7}" for word in OUTCOMES)]))
    for name, counts in report.groups().items():
        lines.append(" ".join([f"{name:{width}}", *(f"{counts[word] or '':>7}" for word in OUTCOMES)]))
    lines.append("")
    for level, word in report.levels().items():
        lines.append(f"L{level} {LEVELS[level]}: {word}")
    skipped = Counter(case.reason for case in report.cases if case.outcome == "skipped")
    if skipped:
        lines += ["", "skipped:", *(f"{count:5} {reason}" for reason, count in skipped.most_common())]
    expected_failures = [case for case in report.cases if case.outcome == "xfailed"]
    if expected_failures:
        lines += ["", "known to fail:", *(f"  {case.name}: {case.reason}" for case in expected_failures)]
    return "\n".join(lines)
