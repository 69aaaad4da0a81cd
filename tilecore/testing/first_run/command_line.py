"""The command line of a first run: its options, its steps one after the other, and the report after each."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilecore.testing.first_run import commands, examples, processes, report, requirements
from tilecore.testing.first_run.plan import SIMULATED, FirstRun

_STEPS = "The steps, each of which runs whether or not the others pass:"
_REPORT = """
The report is one JSON file; its "summary" is what is printed at the end. It is rewritten after every step. It names
devices, versions and results, and no users, machines or home folders: please attach it to an issue of tilecore.
"""
_CODES = (
    "exit codes: 0 all steps passed, 1 a step failed, 2 nothing was run: there is no device that could be used, or a\n"
    "package is missing"
)


@dataclass(frozen=True)
class Options:
    """The options of the command line; see the parser for their meaning."""

    target: str
    execution_backends: tuple[str, ...]
    quick: bool
    jobs: int
    minutes: float
    seconds: float
    out: Path
    steps: tuple[str, ...]
    examples: Path | None

    @property
    def is_simulated(self) -> bool:
        return self.execution_backends == (SIMULATED,)


def parsed(plan: FirstRun, words: list[str] | None = None) -> Options:
    """The options in ``words`` (by default, of this process). Ends the process where they are wrong."""
    parser = _parser(plan)
    options = parser.parse_args(words)
    backends = options.execution_backend or (SIMULATED if options.simulated else ",".join(plan.usual))
    execution_backends = _chosen(parser, "--execution-backend", backends, (*plan.execution_backends, SIMULATED))
    if SIMULATED in execution_backends and len(execution_backends) > 1:
        parser.error(f"--execution-backend: {SIMULATED!r} is a rehearsal, and goes with no other")
    if options.simulated and execution_backends != (SIMULATED,):
        parser.error(f"--simulated is --execution-backend {SIMULATED}, and {backends} is another")
    steps = _chosen(parser, "--steps", options.steps, tuple(plan.steps))
    if options.jobs < 1 or options.minutes <= 0 or options.seconds <= 0:
        parser.error("--jobs, --minutes and --seconds are above 0")
    if not options.out.absolute().parent.is_dir():
        parser.error(f"--out: there is no folder {options.out.absolute().parent}")
    if options.examples is not None and not examples.are_in(options.examples):
        parser.error(f"--examples: there is no {examples.FIRST} in {options.examples}")
    target = options.target or (plan.simulated_target if SIMULATED in execution_backends else plan.target)
    return Options(
        target, execution_backends, options.quick, options.jobs, options.minutes, options.seconds, options.out, steps,
        options.examples,
    )  # fmt: skip


def _parser(plan: FirstRun) -> argparse.ArgumentParser:
    module = plan.place.partition(":")[0].rpartition(".")[0]
    width = max(map(len, plan.steps))
    steps = "\n".join(f"  {name:<{width}}  {line}" for name, line in plan.steps.items())
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=f"{plan.description}\n{_STEPS}\n{steps}\n{_REPORT}",
        epilog=f"{plan.examples}\n{_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="fewer cases and sizes")
    parser.add_argument(
        "--steps", default=",".join(plan.steps), help="the steps to run, with commas (default: %(default)s)"
    )
    parser.add_argument("--target", help=f"the target (default: {plan.target}, for the first GPU)")
    backends = ", ".join((*plan.execution_backends, SIMULATED))
    parser.add_argument(
        "--execution-backend", metavar="NAMES",
        help=f"of {backends}, with commas (default: {','.join(plan.usual)}); {SIMULATED}: no GPU is used",
    )  # fmt: skip
    parser.add_argument(
        "--simulated", action="store_true",
        help=f'a rehearsal without a GPU: --execution-backend {SIMULATED} --target "{plan.simulated_target}"',
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path(f"{plan.package}-first-run.json"), help="default: %(default)s")
    jobs = max(1, min(8, (os.cpu_count() or 2) // 2))
    parser.add_argument("--jobs", type=int, default=jobs, help="processes of kit and fuzz (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=40, help="the most for kit and for fuzz (default: 40 each)")
    parser.add_argument(
        "--seconds", type=float, default=300, help="the most for a check, an example or a benchmark (default: 300)"
    )
    if "examples" in plan.steps:
        parser.add_argument("--examples", type=Path, help="the folder of the examples (default: that of a checkout)")
    else:
        parser.set_defaults(examples=None)
    return parser


def _chosen(parser: argparse.ArgumentParser, option: str, text: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a list with commas, each of which is one of ``names``."""
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    unknown = [word for word in words if word not in names]
    if unknown or not words:
        parser.error(f"{option}: {unknown[0] if unknown else 'nothing'!r} is none of {', '.join(names)}")
    return words


def main(plan: FirstRun, words: list[str] | None = None) -> int:
    """Runs the steps and returns the exit code of the command."""
    options = parsed(plan, words)
    start = time.monotonic()
    record: dict[str, Any] = {"facts": plan.facts(options.target, options.execution_backends), "steps": {}}
    heading = plan.heading(record["facts"])
    report.write(options.out, record, heading)
    said("\n".join(heading))
    problem = plan.problem(record["facts"])
    if not options.is_simulated and problem:
        said(f"no GPU can be used: {problem}\nthe report has what was found: {options.out}")
        return 2
    lacking = requirements.missing(options.steps)
    if lacking:
        said(f"nothing was run: these packages are missing (and the steps that need them): {lacking}; {plan.install}")
        return 2
    steps = [(name, backend) for name in options.steps for backend in options.execution_backends]
    for number, (name, backend) in enumerate(steps, 1):
        title = name if len(options.execution_backends) == 1 else f"{name}, {backend}"
        said(f"[{number}/{len(steps)}] {title}")
        begin = time.monotonic()
        try:
            step = run_step(plan, name, backend, options)
        except KeyboardInterrupt:
            said(f"interrupted; the report has the steps before {title}: {options.out}")
            return 1
        except Exception as error:  # the other steps still run
            step = {"outcome": "failed", "why": f"{type(error).__name__}: {error}"[:2000]}
        step["seconds"] = round(time.monotonic() - begin, 1)
        record["steps"][title] = step
        report.write(options.out, record, heading)
        said(f"    {title}: {step['outcome']}" + (f" ({step['why']})" if step["why"] else ""))
    said("\n".join(["", *report.summary(record, heading), ""]))
    seconds = f"{time.monotonic() - start:.0f} s"
    if options.is_simulated:
        said(f"{seconds}; this was a rehearsal, whose report nobody needs: {options.out}")
    else:
        said(f"{seconds}; the report to send in, attached to an issue of tilecore: {options.out}")
    return 1 if any(step["outcome"] == "failed" for step in record["steps"].values()) else 0


def run_step(plan: FirstRun, name: str, backend: str, options: Options) -> dict[str, Any]:
    """The record of one step with one execution backend."""
    if name in ("checks", "benchmarks"):
        words = [options.target, backend, "quick" if options.quick else "all"]
        program = processes.worker(plan.place)
        return _of_records(processes.results(program, name, words, options.seconds, _started))
    if name == "examples":
        folder = options.examples or examples.folder()
        if folder is None:
            return {"outcome": "skipped", "why": f"there is no checkout of tilecore; {examples.HINT}"}
        runs = examples.results(folder, options.target, backend, options.quick, options.seconds, _started)
        return _of_records(runs)
    step: Callable[..., dict[str, Any]] = commands.kit if name == "kit" else commands.fuzz
    with tempfile.TemporaryDirectory(prefix="tilecore-") as folder_name:
        return step(
            Path(folder_name), options.target, backend, options.quick, options.jobs, 60 * options.minutes,
            lambda line: said(f"    {line}"),
        )  # fmt: skip


def _of_records(results: Any) -> dict[str, Any]:
    records = []
    for result in results:
        records.append(result)
        said("\n".join(f"    {line}" for line in report.described(result)))
    return report.step_of(records)


def _started(name: str) -> None:
    said(f"    {name} ...")


def said(text: str) -> None:
    print(text, flush=True)
