"""``tilecore fuzz``: random kernels on a target, each compared with the interpreter."""

from __future__ import annotations

import itertools
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tilecore.commands.destinations import checked_file, checked_folder
from tilecore.commands.execution_backends import check_execution_backend
from tilecore.errors import ArgumentError
from tilecore.plugins.guard import describe

if TYPE_CHECKING:
    from tilecore.testing.fuzz.hunt import Hunt, Plan
    from tilecore.testing.fuzz.tally import Tally

USUAL = 200  # kernels, where neither their number nor a time is given


def run(arguments: Namespace) -> int:
    """Run kernels until they or the time end; exit code 1 with findings."""
    from tilecore.testing.fuzz.hunt import Hunt

    if arguments.offers is not None:
        _import_backends(arguments.offers)
    check_execution_backend(arguments.target, arguments.execution_backend)
    checked_folder(arguments.out, "--out")
    if arguments.json:
        checked_file(arguments.json, "--json")
    if arguments.python:
        return _run_python(arguments)
    hunt = Hunt(_plan(arguments))
    start = time.monotonic()
    try:
        with _shown(hunt, None if arguments.minutes else _count(arguments)):
            hunt.run()
    finally:
        _print(hunt.tally, hunt.plan, time.monotonic() - start)
    return 1 if hunt.tally.findings else 0


def _import_backends(module: str) -> None:
    """Import the module that --module names."""
    try:
        import_module(module)
    except Exception as error:
        raise ArgumentError(
            f"the module of --module cannot be imported: {describe(error)}",
            found=f"--module {module}",
            expected="a module that Python can import, such as tile_acme.plugin",
            hint="install its package, or add its folder to PYTHONPATH",
        ) from error


def _run_python(arguments: Namespace) -> int:
    """Bodies of statements, by CPython and as kernels."""
    from tilecore.testing.fuzz.python.hunt import hunt, seeds_from

    first = arguments.seed if arguments.only is None else arguments.only
    count = None if arguments.minutes and arguments.count is None and arguments.only is None else _count(arguments)
    start = time.monotonic()
    seconds = 60 * arguments.minutes if arguments.minutes else None
    hunted = hunt(seeds_from(first, count), [arguments.target], Path(arguments.out), seconds)
    total = hunted.counts.total()
    print(f"{total} bodies by Python, by the interpreter and on {arguments.target} in {time.monotonic() - start:.0f} s")
    for kind, number in sorted(hunted.counts.items()):
        print(f"{number:6} {kind}")
    print(f"{len(hunted.findings):6} findings")
    for seed, verdict, path in hunted.findings:
        print(f"  {verdict.kind}: seed {seed}: {_short(verdict.text)} ({path})")
    return 1 if hunted.findings else 0


def _plan(arguments: Namespace) -> Plan:
    from tilecore.plugins import manager
    from tilecore.testing.fuzz.hunt import Plan
    from tilecore.testing.fuzz.judges import Place

    first = arguments.seed if arguments.only is None else arguments.only
    endless = arguments.minutes and arguments.count is None and arguments.only is None
    seeds = itertools.count(first) if endless else range(first, first + _count(arguments))
    backend, target = manager.resolve(arguments.target)
    return Plan(
        Place(arguments.target, arguments.execution_backend, arguments.offers or ""),
        seeds,
        Path(arguments.out),
        seconds=60 * arguments.minutes if arguments.minutes else None,
        jobs=arguments.jobs,
        metamorphic=arguments.metamorphic,
        timeout=arguments.timeout,
        written=Path(arguments.json) if arguments.json else None,
        dtypes=backend.target.capabilities(target).dtypes,
    )


def _count(arguments: Namespace) -> int:
    return 1 if arguments.only is not None else arguments.count or USUAL


@contextmanager
def _shown(hunt: Hunt, total: int | None) -> Iterator[None]:
    """A progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = ("{task.completed} kernels", "{task.fields[rejected]} rejected", "{task.fields[found]} findings")
    console = Console(stderr=True)
    with Progress(
        BarColumn(), *map(TextColumn, columns), TimeElapsedColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=total, rejected=0, found=0)
        hunt.progress = lambda tally: bar.update(
            task, completed=tally.kernels, rejected=tally.kinds["rejected"], found=len(tally.findings)
        )
        yield


def _print(tally: Tally, plan: Plan, seconds: float) -> None:
    from tilecore.commands.text import note

    each = f", {1000 * seconds / tally.kernels:.0f} ms each" if tally.kernels else ""
    print(f"{tally.kernels} kernels on {plan.place.target} in {seconds:.0f} s{each}")
    if tally.calls:
        print(f"{tally.calls} of them called again with other sizes")
    if tally.unfinished:
        print(f"{tally.unfinished} more were cut off by the end of the time")
    if plan.metamorphic:
        print(f"{tally.variants} more kernels with other tile sizes, stages or threads")
    none: Counter[str] = Counter()
    for kind, label, texts in (
        ("ok", "right", none),
        ("rejected", "rejected by the target", tally.rejections),
        ("refused", "refused by the interpreter, which the generator should not have made", tally.refused),
        ("inexact", "skipped, because their numbers grew too large", none),
        ("slow", "skipped, because the interpreter took too long", none),
    ):
        if tally.kinds[kind]:
            print(f"{tally.kinds[kind]:6} {label}")
            for text, count in texts.most_common():
                print(f"{count:10} {text} (seed {', '.join(map(str, tally.seeds_of[text]))})")
    print(f"{len(tally.findings):6} findings")
    for finding in tally.findings:
        text = _short(finding.verdict.text)
        where = f"{finding.path}, {finding.lines} lines" if finding.path else "the same as an earlier finding"
        note(finding.verdict.kind, f"seed {finding.seed}: {text}", [("kernel", where)], indent="  ")


def _short(text: str) -> str:
    """A message on one line; of a traceback its end."""
    words = " ".join(text.split())
    if words.startswith("Traceback"):
        return "... " + words[-200:]
    return words[:200]
