"""``tilecore demo``: kernels in the tile language, compiled, checked and timed on a target."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from tilecore.commands.text import dump

if TYPE_CHECKING:
    from rich.console import Console

    from tilecore.demo.run import Demo, Result


def run(arguments: Namespace) -> int:
    """Run the demo; exit code 1 when a kernel failed or gave a wrong result."""
    from rich.console import Console

    from tilecore.demo.run import Demo

    progress = Console(stderr=True)
    with progress.status("starting"):
        demo = Demo(arguments.target, arguments.quick)
        loading_ms = demo.load_compiler()
    results = _run(demo, progress)
    if arguments.json:
        dump(_facts(demo, results, loading_ms))
    else:
        _print(demo, results, loading_ms)
    return 0 if all(result.ok for result in results) else 1


def _run(demo: Demo, progress: Console) -> list[Result]:
    from tilecore.demo.table import LiveTable

    with LiveTable(progress, len(demo.cases), demo.arrays.name) as table:
        for case in demo.cases:
            table.add(demo.run(case, lambda phase, name=case.name: table.doing(name, phase)))  # type: ignore[misc]
    return table.results


def _facts(demo: Demo, results: list[Result], loading_ms: float | None) -> dict[str, object]:
    return {
        "target": str(demo.target),
        "device": demo.device,
        "reference": demo.arrays.library,
        "quick": demo.quick,
        "loading_ms": loading_ms,
        "results": [asdict(result) for result in results],
    }


def _print(demo: Demo, results: list[Result], loading_ms: float | None) -> None:
    from rich.console import Console

    from tilecore.demo.table import result_table

    # a table that is piped into a file is not cut to a terminal's width
    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    console.print(f"target     {demo.target.kind}: {demo.device}", markup=False)
    console.print(f"reference  {demo.arrays.library}\n", markup=False)
    console.print(result_table(results, demo.arrays.name))
    print()
    if any(result.from_cache for result in results):
        print("* from the cache of compiled kernels; `tilecore cache clear` empties it")
    if loading_ms is not None:
        print(f"loading the compiler took {loading_ms:.0f} ms more, once")
    for result in results:
        if result.includes_loading:
            print(f"{result.name}: the time includes loading the compiler, once")
    for result in results:
        if result.error is not None:
            print(f"\n{result.name}: {result.error}")
        elif not result.ok:
            print(f"\n{result.name}: the largest error is {result.max_error:.2e}, allowed is {result.allowed:.2e}")
    right = sum(result.ok for result in results)
    print(f"{right} of {len(results)} kernels are right")
