"""``tilecore conform``: the conformance kit on one target; pytest runs it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from tilecore.commands.destinations import checked_file
from tilecore.commands.execution_backends import check_execution_backend
from tilecore.commands.text import dump, note
from tilecore.errors import ArgumentError
from tilecore.whole_files import can_be_replaced, write_whole

KIT = "tilecore.testing.conformance"
NO_CASES = 5  # pytest's exit code where it ran no test


def run(arguments: Namespace) -> int:
    """Exit code 0 where every case passed, was skipped by what is declared, or is known to fail; 2: it did not run."""
    missing = [name for name in ("pytest", "hypothesis") if importlib.util.find_spec(name) is None]
    if missing:
        note("error", f"the kit needs {' and '.join(missing)}", [("help", "pip install 'tilecore[test]'")])
        return 2
    if arguments.only is not None and not arguments.only.strip():
        raise ArgumentError(
            "-k selects no cases by an empty pattern",
            found=f"-k {arguments.only!r}",
            expected='words of the cases\' names, such as -k "gemm and float16"',
            hint="leave out -k to run all cases",
        )
    check_execution_backend(arguments.target, arguments.execution_backend)
    if arguments.out is not None:
        arguments.out = checked_file(arguments.out, "--out")
    with tempfile.TemporaryDirectory() as folder:
        report = _report_path(arguments, Path(folder))
        code, interrupted = _ended(_words(arguments, report), sys.stderr if arguments.json else None)
        if code == NO_CASES:
            note(
                "error",
                "no case was selected",
                [("help", f"-k selects by words of the cases' names: {arguments.only}")],
            )
        text = report.read_text(encoding="utf-8") if report is not None and report.exists() else ""
        if text and arguments.out is not None and report != arguments.out:
            write_whole(arguments.out, text)
        if interrupted:
            has_report = text and arguments.out is not None
            rest = f"{arguments.out} has the cases that ran" if has_report else "no report was written"
            print(f"interrupted: {rest}", file=sys.stderr)
        if arguments.json and text:
            reports: list[dict[str, Any]] = json.loads(text)
            dump(reports)
    return 0 if code == 0 else 1 if code == 1 else 2


def _report_path(arguments: Namespace, folder: Path) -> Path | None:
    """The file to which pytest writes the report: --out, or a file of the temporary folder where the command reads the
    report itself, to print it or to write it to a pipe or a device."""
    if arguments.out is not None and can_be_replaced(arguments.out):
        return Path(arguments.out)
    return folder / "report.json" if arguments.out is not None or arguments.json else None


def _ended(words: list[str], stdout: Any) -> tuple[int, bool]:
    """(the exit code of pytest, whether there was a Ctrl-C). That reaches pytest, too: it is waited for, as it reports
    on the cases that did run."""
    process, interrupted = subprocess.Popen(words, stdout=stdout), False
    while True:
        try:
            return process.wait(), interrupted
        except KeyboardInterrupt:
            interrupted = True


def _words(arguments: Namespace, report: Path | None) -> list[str]:
    place = f"{arguments.target}@{arguments.execution_backend}" if arguments.execution_backend else arguments.target
    words = [sys.executable, "-m", "pytest", "-p", "tilecore.testing.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    words += ["--pyargs", KIT, "--conform-target", place, "--conform-level", str(arguments.level)]
    words += ["--conform-seed", str(arguments.seed)]
    if report is not None:
        words += ["--conform-report", str(report)]
        words += ["--conform-report-moves"] if report != arguments.out else []
    if arguments.only:
        words += ["-k", arguments.only]
    if arguments.jobs > 1 and importlib.util.find_spec("xdist") is not None:
        words += ["-n", str(arguments.jobs), "--dist", "loadfile"]
    return words
