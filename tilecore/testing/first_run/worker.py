"""A process that runs checks or benchmarks one after the other: it writes a line of JSON when it starts and ends each.

    python -m tilecore.testing.first_run.worker PLACE LINES KIND TARGET EXECUTION_BACKEND QUICK SKIPPED

PLACE: "module:name" of the backend's FirstRun. LINES: the file that is appended to. KIND: checks or benchmarks.
QUICK: quick or all. SKIPPED: how many are not run, the first ones.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from tilecore.testing.first_run.benchmarks import measure
from tilecore.testing.first_run.checks import run
from tilecore.testing.first_run.machine import Machine
from tilecore.testing.first_run.plan import FirstRun, first_run_at


def main(place: str, lines: str, kind: str, target: str, execution_backend: str, quick: str, skipped: str) -> None:
    plan = first_run_at(place)
    machine = plan.machine(target, execution_backend)
    work = checks if kind == "checks" else benchmarks
    with open(lines, "a") as out:
        for record in work(plan, machine, quick == "quick", int(skipped)):
            out.write(json.dumps(record) + "\n")
            out.flush()


def checks(plan: FirstRun, machine: Machine, quick: bool, skipped: int) -> Iterator[dict[str, Any]]:
    """Two records of each check: its name, and its outcome."""
    for check in plan.checks[skipped:]:
        name = check.__name__.replace("_", " ")
        yield {"start": name}
        outcome, why = run(machine, check)
        yield {"name": name, "outcome": outcome, "why": why}


def benchmarks(plan: FirstRun, machine: Machine, quick: bool, skipped: int) -> Iterator[dict[str, Any]]:
    """Two records of each benchmark: its name, and its figures."""
    for name, make in plan.benchmarks(machine, quick)[skipped:]:
        yield {"start": name}
        try:
            record = measure(machine, make())
            ok = "tilecore" in record
            yield {**record, "outcome": "ok" if ok else "failed", "why": "" if ok else "no configuration was right"}
        except Exception as error:
            yield {"name": name, "outcome": "failed", "why": f"{type(error).__name__}: {error}"[:2000]}


if __name__ == "__main__":
    main(*sys.argv[1:])
