"""Runs groups of the conformance kit on a folder with a backend, up to the first case that fails."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tilecore
from benchmarks.mutations.sample import NAME
from tilecore import settings
from tilecore.testing import conformance

CASES = Path(conformance.__file__).parent / "cases"
_ROOT = f"{Path(tilecore.__file__).parents[1]}{os.sep}"  # where this machine has it: of no interest to readers
PLAIN = ("-xv", "--tb=short", "-o", "addopts=", "-p", "no:cacheprovider")
SILENCE = 240.0  # seconds without a case that ends: it hangs
_ENDED = re.compile(r"test_(\w+)\.py::.* (?:PASSED|SKIPPED|XFAIL)")
_REFUSED = re.compile(rf"(tilecore\.errors\.\w+: .*tile-{NAME}.*)")
_RUNNING = re.compile(r"(test_\w+\.py::\S+)")


@dataclass
class Outcome:
    """How a run ended: "passed", "failed" (a case did), "refused" (the plugin does not load), "crashed", "hung", or
    "broken": something else went wrong, which says nothing of the kit.

    case: the one that failed, or was running. reason: its last words. groups: seconds by group."""

    ended: str
    case: str = ""
    reason: str = ""
    seconds: float = 0.0
    cases: int = 0
    groups: dict[str, float] = field(default_factory=dict)


def groups() -> list[str]:
    """All groups of the kit."""
    return sorted(path.stem.removeprefix("test_") for path in CASES.glob("test_*.py"))


def run(folder: Path, chosen: Sequence[str], silence: float = SILENCE) -> Outcome:
    """These groups, or single cases ("gemm::test_sizes"), in this order, on the backend in ``folder``."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        words = [sys.executable, "-m", "pytest", "-p", "tilecore.testing.pytest_plugin", *PLAIN]
        words += ["--conform-target", NAME, "--conform-level", "2", "--conform-report", str(report)]
        words += [f"--basetemp={scratch}/pytest", *map(_path, chosen)]
        watched = _watched(words, _environment(folder), scratch, silence)
        result = json.loads(report.read_text())[0] if report.exists() else {"cases": []}
    outcome = _outcome(watched.code, watched.texts(), result["cases"])
    outcome.seconds, outcome.groups = round(time.perf_counter() - start, 1), watched.seconds_of_groups()
    outcome.cases = sum(" PASSED" in line for line in watched.texts())
    return outcome


def _path(words: str) -> str:
    group, separator, case = words.partition("::")
    return f"{CASES / f'test_{group}.py'}{separator}{case}"


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the user's own settings but the cache, in which the simulated device's runtime is kept."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("TILECORE_", "PYTEST_"))}
    path = os.pathsep.join([str(folder), str(Path(tilecore.__file__).parents[1])])
    own_settings = {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**inherited, **own_settings, "TILECORE_CACHE_DIR": settings.cache_dir()}


@dataclass
class _Watched:
    """code: None where it was silent for so long that it was stopped. lines: what it printed, and when."""

    code: int | None
    lines: list[tuple[float, str]]

    def texts(self) -> list[str]:
        return [line for _, line in self.lines]

    def seconds_of_groups(self) -> dict[str, float]:
        seconds_by_group: dict[str, float] = {}
        for (before, _), (now, line) in itertools.pairwise(self.lines):
            match = _ENDED.search(line)
            if match is not None:
                seconds_by_group[match[1]] = seconds_by_group.get(match[1], 0.0) + now - before
        return {group: round(seconds, 1) for group, seconds in seconds_by_group.items()}


def _watched(words: list[str], env: dict[str, str], cwd: str, silence: float) -> _Watched:
    started = subprocess.Popen(words, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = [(time.monotonic(), "")]

    def read() -> None:
        assert started.stdout is not None
        for line in started.stdout:
            lines.append((time.monotonic(), line.rstrip("\n")))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    while started.poll() is None and time.monotonic() - lines[-1][0] < silence:
        time.sleep(0.1)
    hung = started.poll() is None
    if hung:
        started.kill()
    started.wait()
    reader.join(timeout=10)
    return _Watched(None if hung else started.returncode, lines)


def _outcome(code: int | None, lines: list[str], unusual: list[dict[str, str]]) -> Outcome:
    """unusual: the cases of the report, which has those that did not pass."""
    wrong = [case for case in unusual if case["outcome"] in ("failed", "xpassed")]
    if code == 0:
        return Outcome("passed")
    if wrong:
        reason = wrong[0]["reason"].replace(_ROOT, "") or wrong[0]["outcome"]
        return Outcome("failed", wrong[0]["name"], reason)
    running = next((match[1] for line in reversed(lines) if (match := _RUNNING.search(line))), "")
    if code is None:
        return Outcome("hung", running, "no case ended in time")
    if code < 0:
        return Outcome("crashed", running, f"signal {-code}")
    refusals = [match[1] for line in lines if (match := _REFUSED.search(line))]
    if refusals:
        return Outcome("refused", "the plugin is loaded", refusals[-1][:300])
    return Outcome("broken", running, "\n".join(lines[-15:]))
