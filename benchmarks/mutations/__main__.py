"""Plants each mutation in a copy of the sample backend and runs the conformance kit on it: which are noticed?

python -m benchmarks.mutations --jobs 2 --out benchmarks/results/mutations.json
python -m benchmarks.mutations --only warp-of-64 --only 'maximum-*'
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.mutations import judge, kit
from benchmarks.mutations.judge import Verdict
from benchmarks.mutations.records import Mutation, mutations
from benchmarks.mutations.results import Results
from benchmarks.mutations.sample import write_sample
from tilecore.simulate.build import runtime_library
from tilecore.simulate.compilers import find_compiler

console = Console(soft_wrap=True)


def main(words: Sequence[str] | None = None) -> int:
    arguments = _arguments(words)
    results = Results.at(arguments.out, mutations())
    chosen = [
        m for m in mutations() if not arguments.only or any(fnmatch.fnmatchcase(m.name, o) for o in arguments.only)
    ]
    if arguments.resume:
        chosen = [mutation for mutation in chosen if not results.is_killed(mutation.name)]
    if arguments.list:
        for mutation in chosen:
            print(f"{mutation.room:10} {mutation.name:36} {mutation.mistake}")
        return 0
    if not chosen:
        print("no mutation is left; --list shows them", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        sample = write_sample(Path(scratch, "sample"))
        clean = _clean(sample, chosen if arguments.only or arguments.quick else None)
        if clean.ended != "passed":
            return 2
        if not arguments.only and not arguments.quick:
            results.note_clean(clean)
        order = [] if arguments.quick else sorted(kit.groups(), key=lambda group: clean.groups.get(group, 0.0))
        for verdict in _judged(chosen, sample, order, arguments.jobs):
            results.add(verdict)
    return _report(results.verdicts() if arguments.resume else results.verdicts({m.name for m in chosen}))


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutations", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="these alone (a name or a pattern)")
    parser.add_argument("--quick", action="store_true", help="only the cases that the records name, not the whole kit")
    parser.add_argument("--resume", action="store_true", help="only those that FILE does not call killed")
    parser.add_argument("--jobs", type=int, default=1, help="mutations that are tried at once (default 1)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON with the verdicts; those of others stay in it")
    parser.add_argument("--list", action="store_true", help="print the mutations, and run nothing")
    return parser.parse_args(words)


def _clean(sample: Path, chosen: Sequence[Mutation] | None) -> kit.Outcome:
    """The kit on the sample as it is: of a few mutations the cases that they name, else all."""
    named = [case for mutation in chosen or () for case in mutation.first or judge.CHEAP]
    cases = list(dict.fromkeys(named)) if chosen is not None else kit.groups()
    runtime_library(find_compiler())
    with console.status("the kit on the sample without mutations"):
        outcome = kit.run(sample, cases)
    console.print(f"without mutations: {outcome.ended}, {outcome.cases} cases in {outcome.seconds:.0f} s")
    if outcome.ended != "passed":
        console.print(f"{outcome.case}\n{outcome.reason}", markup=False)
    return outcome


def _judged(chosen: Sequence[Mutation], sample: Path, order: Sequence[str], jobs: int) -> Iterator[Verdict]:
    """As they come in, each with a line. order: of the groups that a record does not name, the quickest first."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress, ThreadPoolExecutor(jobs) as pool:
        bar = progress.add_task("mutations", total=len(chosen))
        for done in as_completed([pool.submit(judge.judge, mutation, sample, order) for mutation in chosen]):
            verdict = done.result()
            progress.console.print(_line(verdict), markup=False, highlight=False)
            progress.advance(bar)
            yield verdict


def _line(verdict: Verdict) -> str:
    if not verdict.killed:
        return f"SURVIVED {verdict.room}/{verdict.name} after {verdict.seconds:.0f} s. {verdict.survives}"
    return f"{verdict.ended:8} {verdict.room}/{verdict.name} after {verdict.seconds:.0f} s: {verdict.case}"


def _report(verdicts: Sequence[Verdict]) -> int:
    """The table; 0 where enough are killed and nothing is unexplained."""
    table = Table("room", "killed", "mutations")
    for room, (killed, count) in judge.by_room(verdicts).items():
        table.add_row(room, str(killed), str(count))
    console.print(table)
    rate, surprises = judge.rate(verdicts), judge.surprises(verdicts)
    console.print(f"killed: {sum(v.killed for v in verdicts)} of {len(verdicts)}, {100 * rate:.1f} %")
    for words in surprises:
        console.print(words, markup=False)
    return 1 if surprises or rate < judge.FLOOR else 0


if __name__ == "__main__":
    sys.exit(main())
