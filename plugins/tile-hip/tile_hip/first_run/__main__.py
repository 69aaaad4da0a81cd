"""The command line of the first run."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tile_hip.first_run import commands, processes, report
from tile_hip.first_run.facts import facts
from tile_hip.first_run.report import step_of

DESCRIPTION = """\
Checks on a card what could not be checked without one, measures beside torch, and writes a report to send in.

The steps, each of which runs whether or not the others pass:
  checks      launching: results, LDS, streams, graphs, several devices, prints, assertions, errors
  kit         the conformance kit of tilecore on this GPU (needs pytest and hypothesis: pip install 'tilecore[test]')
  benchmarks  GEMM beside torch.matmul (hipBLASLt), attention beside scaled_dot_product_attention (AOTriton), softmax,
              and the time of a launch
  fuzz        random kernels, each compared with the interpreter

The report is one JSON file; its "summary" is what is printed at the end. It is rewritten after every step. It names
GPUs, versions and results, and no users, machines or home folders: please attach it to an issue of tilecore.
"""
EXAMPLES = """\
examples:
  python -m tile_hip.first_run --quick                  about five minutes
  python -m tile_hip.first_run                          everything, up to an hour
  python -m tile_hip.first_run --steps checks,benchmarks
  python -m tile_hip.first_run --execution-backend sim --target "hip -arch=gfx942" --quick
                                                        a rehearsal on the simulated device, without a GPU

exit codes: 0 all steps passed, 1 a step failed, 2 there is no GPU that could be used
"""
STEPS = ("checks", "kit", "benchmarks", "fuzz")


@dataclass(frozen=True)
class Options:
    """The options of the command line; see the parser for their meaning."""

    target: str
    execution_backend: str
    quick: bool
    jobs: int
    minutes: float
    seconds: float
    out: Path
    steps: tuple[str, ...]


def parsed(words: list[str] | None = None) -> Options:
    parser = argparse.ArgumentParser(
        prog="python -m tile_hip.first_run", description=DESCRIPTION, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="fewer cases and sizes")
    parser.add_argument("--steps", default=",".join(STEPS), help="the steps to run, with commas (default: %(default)s)")
    parser.add_argument("--target", default="hip", help="the target (default: hip, for the first GPU)")
    parser.add_argument("--execution-backend", default="hip", choices=("hip", "sim"), help="sim: no GPU is used")
    parser.add_argument("--out", type=Path, default=Path("tile-hip-first-run.json"), help="default: %(default)s")
    jobs = max(1, min(8, (os.cpu_count() or 2) // 2))
    parser.add_argument("--jobs", type=int, default=jobs, help="processes of kit and fuzz (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=40, help="the most for kit and for fuzz (default: 40 each)")
    parser.add_argument("--seconds", type=float, default=300, help="the most for a check or benchmark (default: 300)")
    options = parser.parse_args(words)
    steps = tuple(word.strip() for word in options.steps.split(",") if word.strip())
    unknown = [step for step in steps if step not in STEPS]
    if unknown or not steps:
        parser.error(f"--steps: {unknown[0] if unknown else 'nothing'!r} is none of {', '.join(STEPS)}")
    if options.jobs < 1 or options.minutes <= 0 or options.seconds <= 0:
        parser.error("--jobs, --minutes and --seconds are above 0")
    if not options.out.absolute().parent.is_dir():
        parser.error(f"--out: there is no folder {options.out.absolute().parent}")
    values = vars(options)
    return Options(**{**values, "steps": steps})


def main(words: list[str] | None = None) -> int:
    options = parsed(words)
    start = time.monotonic()
    record: dict[str, Any] = {"facts": facts(options.target, options.execution_backend), "steps": {}}
    report.write(options.out, record)
    for line in report.summary(record):
        print(line, flush=True)
    problem = record["facts"]["runtime"].get("problem") or record["facts"]["kernel_driver"]["problem"]
    if options.execution_backend != "sim" and problem:
        print(f"no GPU can be used: {problem}\nthe report has what was found: {options.out}", flush=True)
        return 2
    for number, name in enumerate(options.steps, 1):
        print(f"[{number}/{len(options.steps)}] {name}", flush=True)
        begin = time.monotonic()
        try:
            step = run_step(name, options)
        except KeyboardInterrupt:
            print(f"interrupted; the report has the steps before {name}: {options.out}", flush=True)
            return 1
        except Exception as error:  # the other steps still run
            step = {"outcome": "failed", "why": f"{type(error).__name__}: {error}"[:2000]}
        step["seconds"] = round(time.monotonic() - begin, 1)
        record["steps"][name] = step
        report.write(options.out, record)
        print(f"    {name}: {step['outcome']}" + (f" ({step['why']})" if step["why"] else ""), flush=True)
    print("\n".join(["", *report.summary(record), ""]))
    print(f"{time.monotonic() - start:.0f} s; the report to send in: {options.out}", flush=True)
    return 0 if all(step["outcome"] == "ok" for step in record["steps"].values()) else 1


def run_step(name: str, options: Options) -> dict[str, Any]:
    """The record of one step."""
    if name in ("checks", "benchmarks"):
        quick = "quick" if options.quick else "all"
        arguments = [options.target, options.execution_backend, quick]
        records = []
        for result in processes.results(name, arguments, options.seconds, lambda started: said(f"    {started} ...")):
            records.append(result)
            said("\n".join(f"    {line}" for line in report.described(result)))
        return step_of(records)
    step: Callable[..., dict[str, Any]] = commands.kit if name == "kit" else commands.fuzz
    with tempfile.TemporaryDirectory(prefix="tile-hip-") as folder:
        return step(
            Path(folder), options.target, options.execution_backend, options.quick, options.jobs, 60 * options.minutes
        )


def said(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
