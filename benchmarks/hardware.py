"""Runs everything that must pass on hardware before a change of the core, the language or a GPU backend is complete.

    python benchmarks/hardware.py --out FOLDER [--target cuda] [--steps kit,suite,examples,fuzz,compilers,memcheck,...]
                                  [--jobs 14] [--kernels 2000] [--minutes 8] [--commit HASH] [--seed N]

The steps are independent: a step that fails, or for which no time is left, is recorded as such, and the others run.

kit         `tilecore conform`, all cases; its report becomes FOLDER/kit.json, in the form of docs/support/*.json
suite       the backend's own tests that need a GPU
examples    tests/test_examples.py on the target
compilers   kernels as operations of torch under its compilers, in CUDA graphs and exported
fuzz        KERNELS random kernels, each compared with the interpreter
memcheck, racecheck, synccheck
            the vendor's checker over every example (its first sizes of tests/test_examples.py) and 200 random kernels

FOLDER/hardware.json has the date, the commit, the machine, the versions and each step's numbers. It is rewritten after
each step, so that a machine that goes away loses one step. Each step has its share of the time, and what the steps
before it left over; one that takes longer is interrupted, and what it found by then is kept. Exit code 1 where a step
failed or did not run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
SUITE = [
    "plugins/tile-cuda/tests/test_on_gpu.py",
    "plugins/tile-cuda/tests/test_device.py",
    "plugins/tile-cuda/tests/test_products_on_gpu.py",
    "plugins/tile-cuda/tests/test_arrays_on_gpu.py",
]
CHECKERS = ("memcheck", "racecheck", "synccheck")
# of the time: about the seconds that each takes with 16 processes, and some room for the kit, which comes first
SHARES = {
    "kit": 230,
    "suite": 45,
    "examples": 90,
    "fuzz": 205,
    "compilers": 110,
    "memcheck": 60,
    "racecheck": 60,
    "synccheck": 50,
}
STEPS = tuple(SHARES)
CHECKED_KERNELS = 200  # random kernels that each checker runs
KERNELS_A_PROCESS = 10  # of these, in one process of the checker, whose start costs seconds


@dataclass(frozen=True)
class Run:
    """The options of a step. deadline: on the clock of time.monotonic()."""

    target: str
    out: Path
    jobs: int
    kernels: int
    seed: int
    deadline: float

    def left(self) -> float:
        return max(1.0, self.deadline - time.monotonic())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--jobs", type=int, default=max(2, (os.cpu_count() or 2) - 2))
    parser.add_argument("--kernels", type=int, default=2000, help="random kernels of the step fuzz")
    parser.add_argument("--seed", type=int, default=int(date.today().strftime("%y%m%d")) * 100_000)
    parser.add_argument("--minutes", type=float, default=8.0, help="for all steps together")
    parser.add_argument("--commit", default="", help="what is tested, where there is no git to ask")
    options = parser.parse_args()
    names = options.steps.split(",")
    if unknown := [name for name in names if name not in STEPS]:
        parser.error(f"--steps: {unknown[0]!r} is none of {', '.join(STEPS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 60 * options.minutes
    run = Run(options.target, options.out.resolve(), options.jobs, options.kernels, options.seed, deadline)
    report: dict[str, Any] = {**facts(options.commit), "steps": {}}
    for number, name in enumerate(names):
        start = time.monotonic()
        share = SHARES[name] / sum(SHARES[later] for later in names[number:])
        try:
            outcome = step_of(name)(replace(run, deadline=start + share * run.left()))
        except Exception as error:  # the other steps still run
            outcome = {"ok": False, "broke": f"{type(error).__name__}: {error}"[:2000]}
        outcome["seconds"] = round(time.monotonic() - start, 1)
        report["steps"][name] = outcome
        (run.out / "hardware.json").write_text(json.dumps(report, indent=1) + "\n")
        shown = {key: value for key, value in outcome.items() if key not in ("failed", "findings")}
        print(f"{name}: {'ok' if outcome['ok'] else 'FAILED'} {shown}", flush=True)
    return 0 if all(outcome["ok"] for outcome in report["steps"].values()) else 1


def step_of(name: str) -> Callable[[Run], dict[str, Any]]:
    if name in CHECKERS:
        return lambda run: check(run, name)
    return {"kit": kit, "suite": suite, "examples": examples, "fuzz": fuzz, "compilers": compilers}[name]


def facts(commit: str) -> dict[str, Any]:
    """The date, the commit, the machine and the versions."""
    import torch

    words = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    device, _, driver = _text(words).partition(", ")
    if not commit:
        changed = _text(["git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no"])
        commit = _text(["git", "-C", str(ROOT), "rev-parse", "HEAD"]) + (" with changes" if changed else "")
    return {
        "date": date.today().isoformat(),
        "commit": commit,
        "device": device,
        "driver": driver,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "command": " ".join(["python benchmarks/hardware.py", *_without_folders(sys.argv[1:])]),
    }


def _without_folders(words: list[str]) -> list[str]:
    """The words of a command line with the names of absolute paths alone: a record speaks of no machine's folders."""
    return [Path(word).name if word.startswith("/") else word for word in words]


def _text(words: list[str]) -> str:
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def kit(run: Run) -> dict[str, Any]:
    """Runs the conformance kit and stores its report."""
    path = run.out / "kit.json"
    words = [sys.executable, "-m", "tilecore", "conform", "--target", run.target, "--jobs", str(run.jobs)]
    code = logged(run, "kit", [*words, "--out", str(path)])
    (report,) = json.loads(path.read_text())
    counts: Counter[str] = Counter()
    for group in report["groups"].values():
        counts.update(group)
    failed = [case["name"] for case in report["cases"] if case["outcome"] not in ("skipped", "xfailed")]
    outcome = {"ok": code == 0, **counts, "level": report["reached"], "failed": failed}
    return {**outcome, "why": "the time was over"} if report["interrupted"] else outcome


def suite(run: Run) -> dict[str, Any]:
    return pytest(run, "suite", SUITE)


def compilers(run: Run) -> dict[str, Any]:
    return pytest(run, "compilers", ["plugins/tile-cuda/tests/test_torch_ops_on_gpu.py"])


def examples(run: Run) -> dict[str, Any]:
    return pytest(run, "examples", ["tests/test_examples.py"])


def pytest(run: Run, name: str, files: list[str]) -> dict[str, Any]:
    """Runs tests in several processes, and counts the results in pytest's XML."""
    path = run.out / f"{name}.xml"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={path}"]
    words += ["-n", str(run.jobs), "--dist", "worksteal"]
    code = logged(run, name, [*words, *files], TILECORE_TEST_TARGETS=run.target)
    begun = list(ElementTree.parse(path).getroot().iter("testcase"))
    cases = [case for case in begun if case.get("name")]  # those that an interruption ended have no name
    bad = [f"{case.get('classname')}::{case.get('name')}" for case in cases if _has(case, "failure", "error")]
    skipped = [case for case in cases if _has(case, "skipped")]
    counts = {"passed": len(cases) - len(bad) - len(skipped), "skipped": len(skipped)}
    if len(begun) > len(cases):
        counts["unfinished"] = len(begun) - len(cases)
    return {"ok": code == 0 and not bad, **counts, "failed": bad}


def _has(case: ElementTree.Element, *tags: str) -> bool:
    return any(case.find(tag) is not None for tag in tags)


def fuzz(run: Run) -> dict[str, Any]:
    """Compares random kernels with the interpreter."""
    path = run.out / "fuzz.json"
    words = [sys.executable, "-m", "tilecore", "fuzz", "--target", run.target, "--jobs", str(run.jobs)]
    words += [
        "--count",
        str(run.kernels),
        "--seed",
        str(run.seed),
        "--json",
        str(path),
        "--out",
        str(run.out / "found"),
    ]
    code = logged(run, "fuzz", words)
    tally = json.loads(path.read_text())
    return {"ok": code == 0, **{key: tally[key] for key in ("kernels", "kinds", "seeds") if key in tally}}


def check(run: Run, tool: str) -> dict[str, Any]:
    """Runs one of the vendor's checkers on examples and random kernels, in several processes at once."""
    checker = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if checker is None:
        raise FileNotFoundError("compute-sanitizer is not installed")
    programs = {f"example {name}": words for name, words in _examples(run).items()}
    for first in range(run.seed, run.seed + CHECKED_KERNELS, KERNELS_A_PROCESS):
        words = [sys.executable, "-m", "tilecore", "fuzz", "--target", run.target, "--seed", str(first), "--jobs", "1"]
        words += ["--count", str(KERNELS_A_PROCESS), "--timeout", "240", "--out", str(run.out / "found")]
        programs[f"kernels from seed {first}"] = words
    with ThreadPoolExecutor(run.jobs) as pool:
        texts = pool.map(lambda item: _checked(run, checker, tool, *item), programs.items())
        failed = {name: text for name, text in zip(programs, texts, strict=True) if text}
    return {
        "ok": not failed,
        "examples": len(programs) - CHECKED_KERNELS // KERNELS_A_PROCESS,
        "kernels": CHECKED_KERNELS,
        "failed": failed,
    }


def _examples(run: Run) -> dict[str, list[str]]:
    """The command of each example, with the first sizes of its test."""
    sys.path.insert(0, str(ROOT / "tests"))
    from test_examples import SIZES

    script = "examples/{}.py"
    return {
        name: [sys.executable, script.format(name), "--target", run.target, *sizes[0].split()]
        for name, sizes in SIZES.items()
    }


def _checked(run: Run, checker: str, tool: str, name: str, words: list[str]) -> str:
    """The error that the checker reports for one program; empty for none."""
    log = run.out / "logs" / f"{tool}-{re.sub('[^a-z0-9]+', '-', name)}"
    log.parent.mkdir(exist_ok=True)
    options = ["--tool", tool, "--target-processes", "all", "--print-limit", "3", "--log-file", f"{log}-%p.log"]
    options += ["--racecheck-report", "analysis"] if tool == "racecheck" else []
    try:
        ended = subprocess.run(
            [checker, *options, *words], cwd=ROOT, capture_output=True, text=True, timeout=run.left(), check=False
        )
    except subprocess.TimeoutExpired:
        return "the time was over"
    texts = [path.read_text() for path in sorted(log.parent.glob(f"{log.name}-*.log"))]
    summaries = [line for text in texts for line in text.splitlines() if "SUMMARY" in line]
    bad = [text for text in texts if re.search(r"SUMMARY: [1-9]", text) or "Error" in text]
    if bad:
        return bad[0][:1500]
    if ended.returncode:
        return f"exit code {ended.returncode}: {(ended.stderr or ended.stdout)[-1000:]}"
    return "" if summaries else "the checker did not say what it saw"


def logged(run: Run, name: str, words: list[str], **variables: str) -> int:
    """Run a command until it ends; what it printed is in FOLDER/NAME.log. Where the step's time is over it is
    interrupted, as by Ctrl-C, so that it writes what it found."""
    with open(run.out / f"{name}.log", "w") as log:
        command = subprocess.Popen(
            words, cwd=ROOT, stdout=log, stderr=log, env={**os.environ, **variables}, start_new_session=True
        )
        try:
            return command.wait(run.left())
        except subprocess.TimeoutExpired:
            os.killpg(command.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                command.wait(20)
            return 124
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(command.pid, signal.SIGKILL)
            command.wait()


if __name__ == "__main__":
    raise SystemExit(main())
