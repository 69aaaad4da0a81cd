"""A process that runs checks or benchmarks one after the other: it writes a line of JSON when it starts and ends each.

    python -m tile_hip.first_run.worker LINES KIND TARGET EXECUTION_BACKEND QUICK SKIPPED

LINES: the file that is appended to. KIND: checks or benchmarks. SKIPPED: how many are not run, the first ones.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from tile_hip.first_run.machine import Machine


def main(lines: str, kind: str, target: str, execution_backend: str, quick: str, skipped: str) -> None:
    machine = Machine(target, execution_backend)
    work = checks if kind == "checks" else benchmarks
    with open(lines, "a") as out:
        for record in work(machine, quick == "quick", int(skipped)):
            out.write(json.dumps(record) + "\n")
            out.flush()


def checks(machine: Machine, quick: bool, skipped: int) -> Iterator[dict[str, Any]]:
    """Two records of each check: its name, and its outcome."""
    from tile_hip.first_run.checks import CHECKS, run

    for check in CHECKS[skipped:]:
        name = check.__name__.replace("_", " ")
        yield {"start": name}
        outcome, why = run(machine, check)
        yield {"name": name, "outcome": outcome, "why": why}


def benchmarks(machine: Machine, quick: bool, skipped: int) -> Iterator[dict[str, Any]]:
    """Two records of each benchmark: its name, and its figures."""
    from tile_hip.first_run.benchmarks import benchmarks as all_benchmarks
    from tile_hip.first_run.benchmarks import measure

    for name, make in all_benchmarks(machine, quick)[skipped:]:
        yield {"start": name}
        try:
            record = measure(machine, make())
            ok = "ratio" in record
            yield {**record, "outcome": "ok" if ok else "failed", "why": "" if ok else "no configuration was right"}
        except Exception as error:
            yield {"name": name, "outcome": "failed", "why": f"{type(error).__name__}: {error}"[:2000]}


if __name__ == "__main__":
    main(*sys.argv[1:])
