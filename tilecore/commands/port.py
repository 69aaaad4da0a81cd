"""``tilecore port FILE...``: what of a TileLang program would not run, by line, and what to write."""

from __future__ import annotations

from argparse import Namespace

from tilecore.commands.text import dump
from tilecore.errors import ArgumentError
from tilecore.porting.judge import FileReport, judge_file
from tilecore.porting.targets import ChosenTarget


def run(arguments: Namespace) -> int:
    """Print the findings, or JSON: {"target", "would_run", "files": [{"file", "would_run", "imports", "findings"}]}.

    The exit code is 1 where something would not run. Raises ArgumentError for a file that is not there.
    """
    target = None if arguments.target is None else ChosenTarget(arguments.target)
    missing = [file for file in arguments.files if not file.is_file()]
    if missing:
        raise ArgumentError(f"{missing[0]} is no file", expected="Python files: tilecore port FILE...")
    reports = [judge_file(file, target) for file in arguments.files]
    would_run = all(report.would_run for report in reports)
    if arguments.json:
        name = None if target is None else str(target.target)
        dump({"target": name, "would_run": would_run, "files": [report.as_data() for report in reports]})
    else:
        for report in reports:
            print("\n".join(_lines(report)))
    return 0 if would_run else 1


def _lines(report: FileReport) -> list[str]:
    lines = [f"{report.file}:{line}: write: {text}" for line, text in report.imports]
    for finding in report.findings:
        lines.append(f"{report.file}:{finding.line}:{finding.column + 1}: {finding.name}: {finding.problem}")
        if finding.instead:
            lines.append(f"    instead: {finding.instead}")
    count = len(report.findings)
    verdict = "nothing stands in the way" if not count else f"{count} {'use' if count == 1 else 'uses'} would not run"
    return [*lines, f"{report.file}: {verdict}"]
