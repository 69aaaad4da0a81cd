"""Judges kernels, one at a time, in a worker process, which is replaced when a kernel ends it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tilecore.jit.workers import Worker, WorkerDied, WorkerTimeout
from tilecore.testing.fuzz.oracle import Reference, Verdict, judge, reference_of

if TYPE_CHECKING:
    from tilecore.testing.fuzz.program import Program

FRESH_AFTER = 300  # kernels, after which a worker is replaced, which frees its memory and its files


@dataclass(frozen=True)
class Place:
    """Where kernels run: the target, its execution backend (None: the default one), and a module to import first, which
    may register backends."""

    target: str
    backend: str | None = None
    module: str = ""


class DeadlineReached(Exception):
    """The hunt's time has ended before the verdict on a kernel."""


class Judge:
    """Judges programs at a place. timeout: seconds that a kernel may take, to compile and run. until: the end of the
    hunt, by time.monotonic(); calls raise DeadlineReached then."""

    def __init__(self, place: Place, timeout: float = 60.0, until: float | None = None) -> None:
        self.place = place
        self.timeout = timeout
        self.until = until
        self.judged = 0
        self._must_restart = False
        self._worker = Worker()
        self._folder = tempfile.mkdtemp(prefix="tilecore-fuzz-")

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._worker.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def reference(self, program: Program) -> Reference | Verdict:
        """The interpreter's results for the program; a verdict where it has none, or takes too long."""
        try:
            return self._call(reference_of, program)
        except WorkerTimeout:
            return Verdict("slow")
        except WorkerDied:
            self.fresh()  # an earlier kernel may be the cause
        try:
            return self._call(reference_of, program)
        except WorkerTimeout:
            return Verdict("slow")
        except WorkerDied as error:
            return Verdict("crash", f"crash: of the interpreter: {error.message}", f"by the interpreter: {error}")

    def verdict(self, program: Program, reference: Reference | None = None) -> Verdict:
        """The verdict on the program. A process that dies is a finding if it dies of this program alone."""
        reference_run = reference or self.reference(program)
        if isinstance(reference_run, Verdict):
            return reference_run
        try:
            return self._judge(program, reference_run)
        except WorkerTimeout:
            return Verdict("hang", "hang", f"it took longer than {self.timeout:g} seconds")
        except WorkerDied as error:
            first = error
        self.fresh()
        try:
            self._judge(program, reference_run)
        except WorkerTimeout:
            return Verdict("hang", "hang", f"it took longer than {self.timeout:g} seconds")
        except WorkerDied as error:
            return Verdict("crash", f"crash: {error.message}", str(error))
        return Verdict(
            "crash", "crash: not alone", f"{first}; alone it did not, so that a kernel before may be the cause"
        )

    def confirmed(self, program: Program, reference: Reference) -> Verdict:
        """As :meth:`verdict`; but a finding after other kernels must occur in a new process too, as one of them may
        have damaged the device or the memory of the process. Else it is a finding with the signature "not alone"."""
        verdict = self.verdict(program, reference)
        if not verdict.is_finding or verdict.kind in ("crash", "hang") or self.judged <= 1:
            return verdict
        self.fresh()
        alone = self.verdict(program, reference)
        if alone.is_finding:
            return alone
        text = f"{verdict.text}; alone it is right, so that a kernel before may be the cause"
        return Verdict(verdict.kind, f"{verdict.kind}: not alone", text)

    def fresh(self) -> None:
        """Start a new process, with an empty folder, for the next kernel."""
        self._worker.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self.judged = 0
        self._must_restart = False

    def _judge(self, program: Program, reference: Reference) -> Verdict:
        if self.judged >= FRESH_AFTER or self._must_restart:
            self.fresh()
        self.judged += 1
        verdict: Verdict = self._call(judge_in_worker, program, reference, self.place, self._folder)
        # after a fault the device refuses all launches of the same process
        self._must_restart = verdict.kind == "error" and "LaunchError" in verdict.signature
        return verdict

    def _call(self, function: Any, *args: Any) -> Any:
        # a new process imports TVM, which does not count as the kernel's time
        if self._worker.pid is None:
            self._within(300.0, prepare, self.place, self._folder)
        return self._within(self.timeout, function, *args)

    def _within(self, seconds: float, function: Any, *args: Any) -> Any:
        """Call in the worker, for at most ``seconds``, and not beyond the end of the hunt."""
        remaining = seconds if self.until is None else self.until - time.monotonic()
        if remaining <= 0:
            raise DeadlineReached
        try:
            return self._worker.call(function, *args, timeout=min(remaining, seconds))
        except WorkerTimeout:
            if remaining < seconds:
                raise DeadlineReached from None
            raise


def prepare(place: Place, folder: str) -> None:
    """In a new process: import what every kernel needs. No warnings of tails that decide a result: the generator makes
    such kernels on purpose."""
    import importlib
    import warnings

    from tilecore.interpreter.tails import TailWarning
    from tilecore.plugins import manager

    warnings.simplefilter("ignore", TailWarning)
    _set_environment(folder)
    if place.module:
        importlib.import_module(place.module)
    for name in ("tilecore.interpreter", "tilecore.jit.compile"):
        importlib.import_module(name)
    _ = manager.resolve(place.target)[0].lowering


def judge_in_worker(program: Program, reference: Reference, place: Place, folder: str) -> Verdict:
    """As :func:`judge`, in the worker, which writes to its folder only."""
    _set_environment(folder)
    return judge(program, reference, place.target, place.backend)


def _set_environment(folder: str) -> None:
    os.environ["TILECORE_DISABLE_CACHE"] = "1"
    os.environ.setdefault("TILECORE_NUM_THREADS", "4")  # of each worker; enough for races between blocks
    os.environ["TMPDIR"] = tempfile.tempdir = folder
