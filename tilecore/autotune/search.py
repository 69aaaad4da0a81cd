"""Searches: compiles all candidates, runs and checks them, times the right ones and chooses the fastest."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tilecore.autotune.candidates import Candidate, why_none
from tilecore.autotune.report import SearchReport, counts
from tilecore.errors import ArgumentError, AutotuneError, CacheError, MissingInputsError, WrongTypeError
from tilecore.jit.workers import WorkerDied, WorkerTimeout

if TYPE_CHECKING:
    from tilecore.autotune.bench import Bench
    from tilecore.autotune.configs import Config
    from tilecore.autotune.inputs import InputSets
    from tilecore.autotune.judges import Judge
    from tilecore.autotune.profile_args import ProfileArgs
    from tilecore.contract.adapter import KernelAdapter
    from tilecore.jit.build_jobs import Job
    from tilecore.jit.build_many import Outcome


@dataclass(frozen=True)
class SearchResult:
    """best: the fastest right candidate. inputs: the inputs it was timed on. checked: the method of the check."""

    best: Candidate
    inputs: list[Any]
    checked: str
    candidates: list[Candidate]


class Tools(Protocol):
    """What a search has done by others; :mod:`tilecore.autotune.tuning` puts them together."""

    adapter: KernelAdapter

    def job(self, config: Config) -> Job:
        """The kernel of a configuration, to be compiled."""

    def build(self, jobs: Sequence[Job], report: SearchReport) -> Sequence[Outcome]:
        """The artifact of each job, or the error that it failed with."""

    def runner(self) -> AbstractContextManager[tuple[Bench, Judge]]:
        """Where candidates are run and timed, and the judge of what they compute."""


def search(
    configs: Sequence[Config], tools: Tools, args: ProfileArgs, sets: InputSets, report: SearchReport
) -> SearchResult:
    """Raises AutotuneError, with the reasons of all, when no candidate is left. Where the arguments of the call are the
    reason, or TILECORE_CACHED_ONLY is that of all, the error is that of the function itself."""
    candidates = [Candidate(config) for config in configs]
    report.begun(candidates)
    _compile(candidates, tools, report)
    same = _once_each(candidates)
    distinct = [candidate for candidate in candidates if candidate.status == "compiled" and not candidate.name]
    method = _run_and_time(distinct, tools, args, sets, report) if distinct else ""
    for candidate, original in same:
        candidate.status, candidate.reason, candidate.latency = original.status, original.reason, original.latency
    timed = [candidate for candidate in candidates if candidate.status == "timed"]
    if not timed:
        error = _error_of_all(candidates)
        if error is not None:
            raise error
        raise AutotuneError(
            f"none of {len(candidates)} configurations gave a kernel",
            found="\n" + why_none(candidates),
            hint=_hint(candidates, args),
        )
    winner = min(timed, key=lambda candidate: candidate.latency or 0.0)
    assert winner.artifact is not None
    report.ended(candidates, winner, method)
    return SearchResult(winner, sets.of(winner.artifact, tools.adapter), method, candidates)


def _error_of_all(candidates: Sequence[Candidate]) -> Exception | None:
    """The error of all candidates, where it is the same and not about what sets them apart."""
    errors = [candidate.error for candidate in candidates]
    first = errors[0]
    is_of_call = isinstance(first, (ArgumentError, WrongTypeError, CacheError))
    return first if is_of_call and all(type(e) is type(first) and str(e) == str(first) for e in errors) else None


def _hint(candidates: Sequence[Candidate], args: ProfileArgs) -> str | None:
    if args.ref_prog is None and any(candidate.status == "wrong" for candidate in candidates):
        return "ref_prog says what is right; for kernels whose outputs are not all determined there is skip_check"
    return None


def _run_and_time(
    candidates: Sequence[Candidate], tools: Tools, args: ProfileArgs, sets: InputSets, report: SearchReport
) -> str:
    """Check and time the candidates; returns the method of the check."""
    adapter = tools.adapter
    with tools.runner() as (bench, judge):
        with report.phase("checking", len(candidates)) as bar:
            for candidate in candidates:
                candidate.name = bench.name()
                _run(candidate, bench, sets, adapter, judge)
                bar.advance(str(candidate))
        judge.settle()
        report.checked(candidates)
        right = [candidate for candidate in candidates if candidate.status == "right"]
        with report.phase("timing", len(right)) as bar:
            best: float | None = None
            for number, candidate in enumerate(right, 1):
                assert candidate.artifact is not None
                slowest = None if best is None or not args.early_stop else args.early_stop_factor * best
                _time(candidate, bench, sets.of(candidate.artifact, adapter), args, slowest)
                if candidate.latency is not None:
                    best = candidate.latency if best is None else min(best, candidate.latency)
                bar.advance(counts(candidates) if best is None else f"{counts(candidates)}, best {best:.4f} ms")
                report.timed(candidate, number, len(right), best)
    return judge.method


def _compile(candidates: Sequence[Candidate], tools: Tools, report: SearchReport) -> None:
    for candidate in candidates:
        try:
            candidate.job = tools.job(candidate.config)
        except Exception as error:
            candidate.not_compiled(error)
    started = [candidate for candidate in candidates if candidate.job is not None]
    jobs = [candidate.job for candidate in started if candidate.job is not None]
    for candidate, outcome in zip(started, tools.build(jobs, report), strict=True):
        if isinstance(outcome, WorkerTimeout):
            candidate.drop("timed out", f"compiling: {outcome.message}")
        elif isinstance(outcome, Exception):
            candidate.not_compiled(outcome)
        else:
            candidate.status, candidate.artifact = "compiled", outcome
    report.compiled(candidates)


def _once_each(candidates: Sequence[Candidate]) -> list[tuple[Candidate, Candidate]]:
    """Pairs of a candidate and the first candidate with the same kernel; only the first is run."""
    first: dict[str, Candidate] = {}
    same = []
    for candidate in candidates:
        if candidate.status != "compiled" or candidate.job is None:
            continue
        original = first.setdefault(candidate.job.key, candidate)
        if original is not candidate:
            candidate.name = "as another"
            same.append((candidate, original))
    return same


def _run(candidate: Candidate, bench: Bench, sets: InputSets, adapter: Any, judge: Any) -> None:
    assert candidate.artifact is not None
    try:
        inputs = sets.of(candidate.artifact, adapter)
        packed_run = bench.run(candidate.name, candidate.artifact, inputs)
    except MissingInputsError:
        raise
    except Exception as error:
        _failed(candidate, error, "running")
        return
    judge.add(candidate, packed_run, inputs)


def _time(candidate: Candidate, bench: Bench, inputs: list[Any], args: ProfileArgs, slowest: float | None) -> None:
    assert candidate.artifact is not None
    try:
        candidate.latency = bench.time(candidate.name, candidate.artifact, inputs, args, slowest)
        candidate.status = "timed"
    except Exception as error:
        _failed(candidate, error, "timing")


def _failed(candidate: Candidate, error: Exception, doing: str) -> None:
    if isinstance(error, WorkerTimeout):
        candidate.drop("timed out", f"{doing}: {error.message}")
    elif isinstance(error, WorkerDied):
        candidate.drop("crashed", f"{doing}: {error.message}")
    else:
        candidate.drop("failed to run", error)
