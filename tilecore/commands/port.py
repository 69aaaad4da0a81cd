"""``tilecore port PATH...``: what of a TileLang program would not run, by line, and what to write."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from tilecore.commands.text import dump
from tilecore.errors import ArgumentError
from tilecore.porting.judge import FileReport, judge_file
from tilecore.porting.targets import ChosenTarget


def run(arguments: Namespace) -> int:
    """Print the findings, or JSON: {"target", "would_run", "files": [{"file", "would_run", "imports", "findings"}]}.

    The exit code is 1 where something would not run. Raises ArgumentError for a path that is not there.
    """
    target = None if arguments.target is None else ChosenTarget(arguments.target)
    reports = [judge_file(file, target) for file in _files_of(arguments.files)]
    would_run = all(report.would_run for report in reports)
    if arguments.json:
        name = None if target is None else str(target.target)
        dump({"target": name, "would_run": would_run, "files": [report.as_data() for report in reports]})
    else:
        for report in reports:
            if len(reports) > 1 and not report.imports and not report.findings:
                continue  # a file of a folder that uses nothing of the package
            print("\n".join(_lines(report)))
        if len(reports) > 1:
            print(f"{sum(report.would_run for report in reports)} of {len(reports)} files: nothing stands in the way")
    return 0 if would_run else 1


def _files_of(paths: Sequence[Path]) -> list[Path]:
    """The files, each once: of a folder its Python files, but for those in folders whose names begin with a dot."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*.py") if not _is_hidden(file.relative_to(path)))
            if not inside:
                raise ArgumentError(f"there are no Python files in {path}", expected="a file, or a folder with some")
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            raise ArgumentError(f"{path} does not exist", expected="Python files or folders: tilecore port PATH...")
    return list(dict.fromkeys(files))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _lines(report: FileReport) -> list[str]:
    lines = [f"{report.file}:{line}: write: {text}" for line, text in report.imports]
    for finding in report.findings:
        lines.append(f"{report.file}:{finding.line}:{finding.column + 1}: {finding.name}: {finding.problem}")
        if finding.instead:
            lines.append(f"    instead: {finding.instead}")
    count = len(report.findings)
    verdict = "nothing stands in the way" if not count else f"{count} {'use' if count == 1 else 'uses'} would not run"
    return [*lines, f"{report.file}: {verdict}"]
