"""The support matrix of the docs, from what the conformance kit wrote.

python -m tilecore.testing.conformance.matrix docs/support/*.json > docs/support.md
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tilecore.testing.conformance import LEVELS
from tilecore.testing.conformance.report import reached

HEAD = """# What each backend has right

Generated from `docs/support/*.json`, which `tilecore conform --out` wrote, by
`python -m tilecore.testing.conformance.matrix`. A number is how many cases of a group pass; *n skipped*: cases that
need what the backend does not declare; *n known*: cases that it is known to fail, with the reasons below.
"""


def matrix(reports: list[dict[str, Any]]) -> str:
    """A page with the reports side by side."""
    reports = merged_reports(reports)
    groups = sorted({group for report in reports for group in report["groups"]})
    rows = [["", *(title(report) for report in reports)], ["---"] * (len(reports) + 1)]
    rows.append(["level", *(f"L{r['reached']}, {LEVELS[r['reached']]}" if r["reached"] >= 0 else "-" for r in reports)])
    rows.append(["recorded", *(f"{r['date']}, tilecore {r['tilecore']}" for r in reports)])
    rows += [
        [group.replace("_", " "), *(cell(report["groups"].get(group, {})) for report in reports)] for group in groups
    ]
    lines = [HEAD, *("| " + " | ".join(row) + " |" for row in rows)]
    for table in dict.fromkeys(name for report in reports for name in report.get("measured", {})):
        lines += numbers(table, [report for report in reports if table in report.get("measured", {})])
    for report in reports:
        lines += reasons(report)
    return "\n".join(lines) + "\n"


def merged_reports(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reports of one place and device, of runs that took different groups, merged into one. The later run of a group
    counts."""
    merged: dict[tuple[str, bool], dict[str, Any]] = {}
    for report in reports:
        key = (report["place"], report["simulated"])
        if key not in merged:
            merged[key] = report
            continue
        was, again = merged[key], report["groups"]
        levels = {**was["levels"], **report["levels"]}
        cases = [case for case in was["cases"] if case["group"] not in again]
        skipped = Counter(case["reason"] for case in (*cases, *report["cases"]) if case["outcome"] == "skipped")
        merged[key] = {
            **report,
            "levels": levels,
            "reached": reached(levels),
            "groups": {**was["groups"], **again},
            "cases": [*cases, *report["cases"]],
            "skipped": dict(skipped),
            "measured": {**was.get("measured", {}), **report.get("measured", {})},
        }
    return list(merged.values())


def title(report: dict[str, Any]) -> str:
    return f"`{report['place']}`{' simulated' if report['simulated'] else ''}"


def cell(counts: dict[str, int]) -> str:
    words = {"failed": "failed", "xpassed": "passed, but known to fail", "xfailed": "known", "skipped": "skipped"}
    parts = [f"{counts['passed']}" if counts.get("passed") else ""]
    parts += [f"{counts[outcome]} {word}" for outcome, word in words.items() if counts.get(outcome)]
    return ", ".join(part for part in parts if part) or "-"


def numbers(table: str, reports: list[dict[str, Any]]) -> list[str]:
    """What cases measured, a row for each thing and a column for each backend that has it."""
    tables = [report["measured"][table] for report in reports]
    rows = list(dict.fromkeys(row for measured in tables for row in measured))
    columns = list(dict.fromkeys(column for measured in tables for row in measured.values() for column in row))
    head = ", ".join(columns) if len(columns) > 1 else ""
    lines = ["", f"## {table[:1].upper()}{table[1:]}", ""]
    lines += [
        f"| {head} | " + " | ".join(map(title, reports)) + " |",
        "| " + " | ".join(["---"] * (len(tables) + 1)) + " |",
    ]
    for row in rows:
        cells = [", ".join(number(measured.get(row, {}).get(column)) for column in columns) for measured in tables]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return lines


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def reasons(report: dict[str, Any]) -> list[str]:
    """Why cases were skipped, and which are known to fail."""
    expected_failures = [case for case in report["cases"] if case["outcome"] == "xfailed"]
    if not expected_failures and not report["skipped"]:
        return []
    lines = ["", f"## {title(report)}", ""]
    lines += [f"- {count} skipped: {reason}" for reason, count in sorted(report["skipped"].items())]
    return lines + [f"- known to fail: `{case['name']}`: {case['reason']}" for case in expected_failures]


def main(paths: list[str]) -> int:
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    reports = [report for path in paths for report in json.loads(Path(path).read_text())]
    print(matrix(reports), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
