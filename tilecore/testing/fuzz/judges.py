"""A worker process that judges one kernel at a time, and outlives what they do to it."""

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

FRESH_AFTER = 300  # kernels, after which a worker is replaced: what they leave in its memory and on disk goes


@dataclass(frozen=True)
class Place:
    """Where kernels are to run: the target, its execution backend (None: the one that is chosen by itself), and a
    module to import first, which may register backends of its own."""

    target: str
    backend: str | None = None
    module: str = ""


class OutOfTime(Exception):
    """The hunt ends before it is known what becomes of a kernel."""


class Judge:
    """Judges programs on a place. timeout: seconds that a kernel may take, to compile and run. until: when all ends, by
    time.monotonic(); calls raise OutOfTime then."""

    def __init__(self, place: Place, timeout: float = 60.0, until: float | None = None) -> None:
        self.place = place
        self.timeout = timeout
        self.until = until
        self.judged = 0
        self._is_spoilt = False
        self._worker = Worker()
        self._folder = tempfile.mkdtemp(prefix="tilecore-fuzz-")

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._worker.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def reference(self, program: Program) -> Reference | Verdict:
        """What the program means; a verdict where it means nothing, or takes too long to find out."""
        try:
            return self._call(reference_of, program)
        except WorkerTimeout:
            return Verdict("slow")
        except WorkerDied:
            self.fresh()  # a kernel before may be the cause
        try:
            return self._call(reference_of, program)
        except WorkerTimeout:
            return Verdict("slow")
        except WorkerDied as error:
            return Verdict("crash", f"crash: of the interpreter: {error.message}", f"by the interpreter: {error}")

    def verdict(self, program: Program, reference: Reference | None = None) -> Verdict:
        """What became of the program. A process that dies is a finding if it does so for this program alone."""
        reference_run = reference or self.reference(program)
        if isinstance(reference_run, Verdict):
            return reference_run
        try:
            return self._judged(program, reference_run)
        except WorkerTimeout:
            return Verdict("hang", "hang", f"it took longer than {self.timeout:g} seconds")
        except WorkerDied as error:
            first = error
        self.fresh()
        try:
            self._judged(program, reference_run)
        except WorkerTimeout:
            return Verdict("hang", "hang", f"it took longer than {self.timeout:g} seconds")
        except WorkerDied as error:
            return Verdict("crash", f"crash: {error.message}", str(error))
        return Verdict(
            "crash", "crash: not alone", f"{first}; alone it did not, so that a kernel before may be the cause"
        )

    def confirmed(self, program: Program, reference: Reference) -> Verdict:
        """As :meth:`verdict`; what is found after other kernels must be found in a fresh process too, as one of them
        may have spoilt the device or the memory of the first. Else it is a finding of the sort "not alone"."""
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
        """A new process and an empty folder for the next kernel."""
        self._worker.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self.judged = 0
        self._is_spoilt = False

    def _judged(self, program: Program, reference: Reference) -> Verdict:
        if self.judged >= FRESH_AFTER or self._is_spoilt:
            self.fresh()
        self.judged += 1
        verdict: Verdict = self._call(judge_here, program, reference, self.place, self._folder)
        # a device refuses all that comes after a fault in the same process
        self._is_spoilt = verdict.kind == "error" and "LaunchError" in verdict.sort
        return verdict

    def _call(self, function: Any, *args: Any) -> Any:
        # a process that starts has TVM to import, which is not the kernel's time
        if self._worker.pid is None:
            self._within(300.0, prepare, self.place, self._folder)
        return self._within(self.timeout, function, *args)

    def _within(self, seconds: float, function: Any, *args: Any) -> Any:
        """Call in the worker, for so many seconds or until all ends."""
        left = seconds if self.until is None else self.until - time.monotonic()
        if left <= 0:
            raise OutOfTime
        try:
            return self._worker.call(function, *args, timeout=min(left, seconds))
        except WorkerTimeout:
            if left < seconds:
                raise OutOfTime from None
            raise


def prepare(place: Place, folder: str) -> None:
    """In a new process: import what every kernel needs. Tails that decide a result are drawn on purpose."""
    import importlib
    import warnings

    from tilecore.interpreter.tails import TailWarning
    from tilecore.plugins import manager

    warnings.simplefilter("ignore", TailWarning)
    _settle(folder)
    if place.module:
        importlib.import_module(place.module)
    for name in ("tilecore.interpreter", "tilecore.jit.compile"):
        importlib.import_module(name)
    _ = manager.resolve(place.target)[0].lowering


def judge_here(program: Program, reference: Reference, place: Place, folder: str) -> Verdict:
    """In the worker, which keeps nothing outside of its folder."""
    _settle(folder)
    return judge(program, reference, place.target, place.backend)


def _settle(folder: str) -> None:
    os.environ["TILECORE_DISABLE_CACHE"] = "1"
    os.environ.setdefault("TILECORE_NUM_THREADS", "4")  # of many workers each; enough for blocks to meet
    os.environ["TMPDIR"] = tempfile.tempdir = folder
