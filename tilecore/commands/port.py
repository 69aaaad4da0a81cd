"""``tilecore port PATH...``: what of a TileLang program would not run, by line, and what to write."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from tilecore.commands.text import dump
from tilecore.errors import ArgumentError
from tilecore.porting.judge import judge_file
from tilecore.porting.report import FileReport
from tilecore.porting.targets import ChosenTarget
from tilecore.porting.text import lines_of_file, lines_of_imports, lines_of_summary
from tilecore.progress import Progress


def run(arguments: Namespace) -> int:
    """Print the findings, or a diff, or JSON: {"target", "would_run", "fixed", "files": [...]} with an object for each
    file: {"file", "uses_tilelang", "would_run", "imports", "findings", "notes"}.

    The exit code is 1 where something would not run. Raises ArgumentError for a path that is not there.
    """
    if arguments.diff and arguments.json:
        raise ArgumentError("--diff prints a diff, and --json prints JSON", expected="one of --diff and --json")
    target = None if arguments.target is None else ChosenTarget(arguments.target)
    reports = _judged(_files_of(arguments.files), target)
    would_run = all(report.would_run for report in reports)
    if arguments.json:
        _fix(reports, arguments.fix)
        files = [report.as_data() for report in reports]
        name = None if target is None else str(target.target)
        dump({"target": name, "would_run": would_run, "fixed": bool(arguments.fix), "files": files})
    elif arguments.diff:
        _print_diffs(reports)
    else:
        _print(reports, bool(arguments.fix))
    return 0 if would_run else 1


def _judged(files: Sequence[Path], target: ChosenTarget | None) -> list[FileReport]:
    """The reports, with a progress bar where a person waits for several files."""
    reports = []
    with Progress("reading", len(files), show=None if len(files) > 1 else False) as bar:
        for file in files:
            reports.append(judge_file(file, target))
            bar.advance(file.name)
    return reports


def _fix(reports: Sequence[FileReport], is_wanted: bool) -> None:
    """Write the changed imports of the files."""
    for report in reports:
        if is_wanted and report.rewrite is not None and report.rewrite.edits:
            report.rewrite.write(Path(report.file))


def _print(reports: Sequence[FileReport], is_fixed: bool) -> None:
    """The entries of each file that has some, then a summary, and what --fix is for."""
    parts: list[str] = []  # an empty line after what is printed already
    for report in reports:
        _fix([report], is_fixed)
        if len(reports) == 1 or report.imports or report.findings or report.notes:
            print("\n".join(lines_of_file(report, is_fixed)))
            parts = [""]
    if len(reports) > 1:
        print("\n".join([*parts, *lines_of_summary(reports)]))
        parts = [""]
    imports = lines_of_imports(reports, is_fixed)
    if imports:
        print("\n".join([*parts, *imports]))


def _print_diffs(reports: Sequence[FileReport]) -> None:
    """The changes of all files to the standard output, for other tools; a summary to the standard error."""
    for report in reports:
        if report.rewrite is not None:
            sys.stdout.write(report.rewrite.diff(report.file))
    sys.stdout.flush()
    print("\n".join(lines_of_summary(reports)), file=sys.stderr)


def _files_of(paths: Sequence[Path]) -> list[Path]:
    """The files, each once. Raises ArgumentError for a path that is not there."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(_inside(path))
            if not inside:
                raise ArgumentError(f"there are no Python files in {path}", expected="a file, or a folder with some")
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            raise ArgumentError(f"{path} does not exist", expected="Python files or folders: tilecore port PATH...")
    return list(dict.fromkeys(files))


def _inside(folder: Path) -> Iterator[Path]:
    """The Python files of a folder, but for those in hidden folders and of installed packages, which --fix must not
    change."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_left_out(Path(place, name))]
        for name in names:
            if name.endswith(".py") and not name.startswith(".") and Path(place, name).is_file():
                yield Path(place, name)


def _is_left_out(folder: Path) -> bool:
    is_environment = (folder / "pyvenv.cfg").exists()
    return folder.name.startswith(".") or folder.name in ("site-packages", "__pycache__") or is_environment
