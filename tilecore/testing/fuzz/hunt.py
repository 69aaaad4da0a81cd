"""Many random kernels on one place: what became of them, and what was found."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tilecore.testing.fuzz.generate import generate
from tilecore.testing.fuzz.judges import Judge, OutOfTime, Place
from tilecore.testing.fuzz.oracle import Reference, Verdict
from tilecore.testing.fuzz.printing import lines_of, source_of
from tilecore.testing.fuzz.repeat import write_finding
from tilecore.testing.fuzz.shrink import Effort, shrink
from tilecore.testing.fuzz.tally import Finding, Tally
from tilecore.testing.fuzz.variants import agree, variants

if TYPE_CHECKING:
    from tilecore.testing.fuzz.program import Program

SAME_SORT = 3  # findings of one sort that are cut down; others are only counted
MOST_WRONG = 40  # the same of wrong results, whose causes are not known
SAVED_AFTER = 10.0  # seconds, after which the tally is written again


@dataclass(frozen=True)
class Plan:
    """What to do. seeds: of the kernels, perhaps without end. seconds: after which all ends, what is being cut down
    too; None: until the seeds end."""

    place: Place
    seeds: Iterable[int]
    out: Path
    seconds: float | None = None
    jobs: int = 1
    metamorphic: bool = False
    timeout: float = 60.0
    effort: tuple[int, float] = (400, 120.0)  # of cutting one finding down: attempts, seconds
    dtypes: Collection[str] = ()
    written: Path | None = None  # where the tally is kept as JSON, from time to time and at the end


class Hunt:
    """Runs a plan. progress: is told of every kernel, from any thread but one at a time."""

    def __init__(self, plan: Plan, progress: Callable[[Tally], object] = lambda tally: None) -> None:
        self.plan = plan
        self.progress = progress
        self.tally = Tally()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._sorts: Counter[str] = Counter()
        self._until: float | None = None
        self._written = time.monotonic()

    def run(self) -> Tally:
        """Until the seeds or the time end."""
        seeds = _shared(self.plan.seeds)
        self.tally.start = time.monotonic()
        self._until = None if self.plan.seconds is None else self.tally.start + self.plan.seconds
        try:
            with ThreadPoolExecutor(self.plan.jobs) as pool:
                workers = [pool.submit(self._work, seeds) for _ in range(self.plan.jobs)]
                try:
                    for worker in workers:
                        worker.result()
                finally:
                    self._stop.set()
        finally:
            self._write()
        return self.tally

    def _work(self, seeds: Iterator[int]) -> None:
        with Judge(self.plan.place, self.plan.timeout, self._until) as judge:
            for seed in seeds:
                if self._stop.is_set() or (self._until is not None and time.monotonic() > self._until):
                    return
                try:
                    self._judge_seed(judge, seed)
                except OutOfTime:
                    with self._lock:
                        self.tally.unfinished += 1
                    return

    def _judge_seed(self, judge: Judge, seed: int) -> None:
        program = generate(seed, self.plan.dtypes)
        reference = judge.reference(program)
        verdict = judge.confirmed(program, reference) if isinstance(reference, Reference) else reference
        again = isinstance(reference, Reference) and reference.again is not None
        if verdict.kind == "ok" and self.plan.metamorphic and isinstance(reference, Reference):
            program, verdict = self._others(judge, program, reference)
        finding = self._finding(judge, seed, program, verdict) if verdict.is_finding else None
        with self._lock:
            self.tally.drawn(seed)
            self.tally.calls += again
            self.tally.add(seed, verdict)
            if finding is not None:
                self.tally.findings.append(finding)
            if finding is not None or time.monotonic() > self._written + SAVED_AFTER:
                self._write()
            self.progress(self.tally)

    def _write(self) -> None:
        self._written = time.monotonic()
        if self.plan.written is not None:
            self.tally.write(self.plan.written, target=self.plan.place.target, jobs=self.plan.jobs)

    def _others(self, judge: Judge, program: Program, reference: Reference) -> tuple[Program, Verdict]:
        """The first of the program's variants that finds something; else the program itself."""
        for variant in variants(program):
            meant = judge.reference(variant)
            if not isinstance(meant, Reference) or not agree(reference, meant):
                continue
            with self._lock:
                self.tally.variants += 1
            verdict = judge.confirmed(variant, meant)
            if verdict.is_finding:
                return variant, verdict
        return program, Verdict("ok")

    def _finding(self, judge: Judge, seed: int, program: Program, verdict: Verdict) -> Finding:
        with self._lock:
            self._sorts[verdict.sort] += 1
            count = self._sorts[verdict.sort]
        if count > (MOST_WRONG if verdict.kind == "wrong" else SAME_SORT):
            return Finding(seed, verdict)
        last = [verdict]

        def still(candidate: Program) -> bool:
            candidate_verdict = judge.verdict(candidate)
            if candidate_verdict.is_finding and candidate_verdict.sort == verdict.sort:
                last[0] = candidate_verdict
                return True
            return False

        whole = verdict.kind == "hang" or verdict.sort.endswith("not alone")  # nothing to be cut down
        smallest = program if whole else shrink(program, still, self._effort(count))
        try:
            meant = judge.reference(smallest)
        except OutOfTime:
            meant = Verdict("slow")
        bounds = meant.bounds if isinstance(meant, Reference) else [0.0] * len(smallest.params)
        path = write_finding(self.plan.out, smallest, last[0], self.plan.place, bounds, seed)
        return Finding(seed, last[0], path, lines_of(source_of(smallest)))

    def _effort(self, count: int) -> Effort:
        """Of cutting down the finding that is the count-th of its sort: less where there are many."""
        attempts, seconds = self.plan.effort
        less = 1 if count <= SAME_SORT else 4
        if self._until is not None:
            seconds = max(0.0, min(seconds, self._until - time.monotonic() - 2.0))
        return Effort(attempts // less, seconds / less)


def _shared(seeds: Iterable[int]) -> Iterator[int]:
    """An iterator that several threads may draw from."""
    lock, drawn = threading.Lock(), iter(seeds)
    end = object()

    def draw() -> int | object:
        with lock:
            return next(drawn, end)

    return iter(draw, end)  # type: ignore[arg-type]
