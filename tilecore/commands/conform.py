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
from tilecore.commands.text import dump, note
from tilecore.plugins import manager

KIT = "tilecore.testing.conformance"
NO_CASES = 5  # pytest's exit code where it ran no test


def run(arguments: Namespace) -> int:
    """Exit code 0 where every case passed, was skipped by what is declared, or is known to fail; 2: it did not run."""
    missing = [name for name in ("pytest", "hypothesis") if importlib.util.find_spec(name) is None]
    if missing:
        note("error", f"the kit needs {' and '.join(missing)}", [("help", "pip install 'tilecore[test]'")])
        return 2
    manager.resolve(arguments.target)  # a target that is not there says so here
    if arguments.out is not None:
        checked_file(arguments.out, "--out")
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.out or Path(folder, "report.json")
        code, interrupted = _ended(_words(arguments, path), sys.stderr if arguments.json else None)
        if code == NO_CASES:
            note(
                "error",
                "no case was selected",
                [("help", f"-k selects by words of the cases' names: {arguments.only}")],
            )
        if interrupted:
            has_report = path.exists() and arguments.out is not None
            rest = f"{path} has the cases that ran" if has_report else "no report was written"
            print(f"interrupted: {rest}", file=sys.stderr)
        if arguments.json and path.exists():
            reports: list[dict[str, Any]] = json.loads(path.read_text())
            dump(reports)
    return 0 if code == 0 else 1 if code == 1 else 2


def _ended(words: list[str], stdout: Any) -> tuple[int, bool]:
    """(the exit code of pytest, whether there was a Ctrl-C). That reaches pytest, too: it is waited for, as it reports
    on the cases that did run."""
    process, interrupted = subprocess.Popen(words, stdout=stdout), False
    while True:
        try:
            return process.wait(), interrupted
        except KeyboardInterrupt:
            interrupted = True


def _words(arguments: Namespace, report: Path) -> list[str]:
    place = f"{arguments.target}@{arguments.execution_backend}" if arguments.execution_backend else arguments.target
    words = [sys.executable, "-m", "pytest", "-p", "tilecore.testing.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    words += ["--pyargs", KIT, "--conform-target", place, "--conform-level", str(arguments.level)]
    words += ["--conform-seed", str(arguments.seed), "--conform-report", str(report)]
    if arguments.only:
        words += ["-k", arguments.only]
    if arguments.jobs > 1 and importlib.util.find_spec("xdist") is not None:
        words += ["-n", str(arguments.jobs), "--dist", "loadfile"]
    return words
