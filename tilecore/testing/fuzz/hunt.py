"""Runs many random kernels at one place, and collects the verdicts and findings."""

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
from tilecore.testing.fuzz.judges import DeadlineReached, Judge, Place
from tilecore.testing.fuzz.oracle import Reference, Verdict
from tilecore.testing.fuzz.printing import lines_of, source_of
from tilecore.testing.fuzz.repeat import write_finding
from tilecore.testing.fuzz.shrink import Effort, shrink
from tilecore.testing.fuzz.tally import Finding, Tally
from tilecore.testing.fuzz.variants import agree, variants
from tilecore.whole_files import can_be_replaced

if TYPE_CHECKING:
    from tilecore.testing.fuzz.program import Program

SAME_SORT = 3  # the most findings of one signature that are reduced; others are only counted
MOST_WRONG = 40  # the same for wrong results, whose causes are not known
SAVED_AFTER = 10.0  # seconds between writes of the tally


@dataclass(frozen=True)
class Plan:
    """What a hunt does. seeds: of the kernels; may be endless. seconds: after which it ends, also while it reduces a
    finding; None: it ends with the seeds."""

    place: Place
    seeds: Iterable[int]
    out: Path
    seconds: float | None = None
    jobs: int = 1
    metamorphic: bool = False
    timeout: float = 60.0
    effort: tuple[int, float] = (400, 120.0)  # for reducing one finding: attempts, seconds
    dtypes: Collection[str] = ()
    written: Path | None = None  # the file of the tally as JSON, written from time to time and at the end


class Hunt:
    """Runs a plan. progress: called after every kernel, from any thread, but one call at a time."""

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
        """Judge kernels until the seeds or the time end."""
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
                except DeadlineReached:
                    with self._lock:
                        self.tally.unfinished += 1
                    return

    def _judge_seed(self, judge: Judge, seed: int) -> None:
        program = generate(seed, self.plan.dtypes)
        reference = judge.reference(program)
        verdict = judge.confirmed(program, reference) if isinstance(reference, Reference) else reference
        is_called_twice = isinstance(reference, Reference) and reference.second_call is not None
        if verdict.kind == "ok" and self.plan.metamorphic and isinstance(reference, Reference):
            program, verdict = self._first_finding_of_variants(judge, program, reference)
        finding = self._finding(judge, seed, program, verdict) if verdict.is_finding else None
        with self._lock:
            self.tally.note_seed(seed)
            self.tally.calls += is_called_twice
            self.tally.add(seed, verdict)
            if finding is not None:
                self.tally.findings.append(finding)
            if finding is not None or time.monotonic() > self._written + SAVED_AFTER:
                self._write_unfinished()
            self.progress(self.tally)

    def _write_unfinished(self) -> None:
        """Write the tally during the run; a pipe or a device gets only the last one."""
        if self.plan.written is not None and can_be_replaced(self.plan.written):
            self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        if self.plan.written is not None:
            self.tally.write(self.plan.written, target=self.plan.place.target, jobs=self.plan.jobs)

    def _first_finding_of_variants(
        self, judge: Judge, program: Program, reference: Reference
    ) -> tuple[Program, Verdict]:
        """The first variant of the program with a finding, and its verdict; the program itself where there is none."""
        for variant in variants(program):
            variant_reference = judge.reference(variant)
            if not isinstance(variant_reference, Reference) or not agree(reference, variant_reference):
                continue
            with self._lock:
                self.tally.variants += 1
            verdict = judge.confirmed(variant, variant_reference)
            if verdict.is_finding:
                return variant, verdict
        return program, Verdict("ok")

    def _finding(self, judge: Judge, seed: int, program: Program, verdict: Verdict) -> Finding:
        with self._lock:
            self._sorts[verdict.signature] += 1
            count = self._sorts[verdict.signature]
        if count > (MOST_WRONG if verdict.kind == "wrong" else SAME_SORT):
            return Finding(seed, verdict)
        last = [verdict]

        def has_same_finding(candidate: Program) -> bool:
            candidate_verdict = judge.verdict(candidate)
            if candidate_verdict.is_finding and candidate_verdict.signature == verdict.signature:
                last[0] = candidate_verdict
                return True
            return False

        cannot_be_reduced = verdict.kind == "hang" or verdict.signature.endswith("not alone")  # which cannot be reduced
        smallest = program if cannot_be_reduced else shrink(program, has_same_finding, self._effort_for(count))
        try:
            variant_reference = judge.reference(smallest)
        except DeadlineReached:
            variant_reference = Verdict("slow")
        bounds = variant_reference.bounds if isinstance(variant_reference, Reference) else [0.0] * len(smallest.params)
        path = write_finding(self.plan.out, smallest, last[0], self.plan.place, bounds, seed)
        return Finding(seed, last[0], path, lines_of(source_of(smallest)))

    def _effort_for(self, count: int) -> Effort:
        """The effort for reducing the ``count``-th finding of a signature: less where there are many."""
        attempts, seconds = self.plan.effort
        less = 1 if count <= SAME_SORT else 4
        if self._until is not None:
            seconds = max(0.0, min(seconds, self._until - time.monotonic() - 2.0))
        return Effort(attempts // less, seconds / less)


def _shared(seeds: Iterable[int]) -> Iterator[int]:
    """An iterator that several threads may advance."""
    lock, seed_iterator = threading.Lock(), iter(seeds)
    end = object()

    def draw() -> int | object:
        with lock:
            return next(seed_iterator, end)

    return iter(draw, end)  # type: ignore[arg-type]
