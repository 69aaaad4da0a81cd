"""Runs and times candidates in a process of their own, so that one that hangs or crashes takes nothing else with it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tilecore import debug
from tilecore.autotune import session
from tilecore.autotune.transport import pack
from tilecore.errors import LanguageError, LaunchError, PluginError, TilecoreError
from tilecore.jit import worker_pools
from tilecore.jit.build_jobs import can_be_sent
from tilecore.jit.workers import Local, Runner, Worker, WorkerDied, WorkerTimeout

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.autotune.profile_args import ProfileArgs
    from tilecore.jit.request import Request

PURPOSE = "run candidates"
_numbers = itertools.count()


class BlockedError(LaunchError):
    """A launch in this process hangs, so nothing more can be run."""


class Bench:
    """Candidates are run in a worker process where the backend can be loaded there, else in this process.

    timeout: seconds that running and timing one candidate may take. In a worker process a candidate that takes longer
    is killed with its process, and the next one starts another. In this process it cannot be stopped: its thread goes
    on, holding its core and maybe the device, until it ends by itself or the process does; no more is run here then.
    Context manager.
    """

    def __init__(self, request: Request, timeout: float | None) -> None:
        self.request = request
        self.timeout = timeout
        self.isolated = can_be_sent(request)
        self._runner: Runner = worker_pools.spares.borrow(PURPOSE) if self.isolated else Local()
        self._sent: dict[str, Any] = {}
        self._names: list[str] = []
        self._blocked = ""

    def __enter__(self) -> Bench:
        target, adapter = str(self.request.target), self.request.adapter
        if self.isolated:
            try:
                self._runner.call(session.prepare, target, adapter)
            except (LaunchError, PluginError, LanguageError, WorkerDied) as error:
                debug.say(debug.BACKEND, f"candidates are run in this process, as another cannot: {error}")
                self._release()
                self.isolated, self._runner = False, Local()
            except BaseException:
                self._release()
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None and not issubclass(kind, Exception):
            self._runner.stop()  # Ctrl-C: whatever runs there is not wanted any more
        if not self._blocked and getattr(self._runner, "pid", 0) is not None:
            self._runner.call(session.forget, self._names)
        self._release()

    def _release(self) -> None:
        if isinstance(self._runner, Worker):
            worker_pools.spares.give_back(PURPOSE, self._runner)

    def name(self) -> str:
        """A key for a candidate or a set of inputs, never used before."""
        self._names.append(f"autotune {next(_numbers)}")
        return self._names[-1]

    def run(self, name: str, artifact: Artifact, inputs: list[Any]) -> session.PackedRun:
        """Run a candidate once. Raises what the run raises, WorkerTimeout and WorkerDied."""
        return self._call(inputs, session.run_once, name, artifact)

    def time(
        self, name: str, artifact: Artifact, inputs: list[Any], profile: ProfileArgs, slowest: float | None
    ) -> float:
        """Milliseconds of a call; an estimate for one that is slower than ``slowest`` milliseconds. profile: how long
        to measure, and by which clock."""
        measured = (profile.warmup, profile.rep, profile.backend)
        return self._call(inputs, session.time_kernel, name, artifact, *measured, slowest)

    def _call(self, inputs: list[Any], function: Callable[..., Any], name: str, artifact: Artifact, *rest: Any) -> Any:
        if self._blocked:
            raise BlockedError(f"not run, as {self._blocked} still hangs in this process")
        started = time.monotonic()
        place = self._place(inputs)
        try:
            return self._runner.call(function, name, artifact, place, *rest, timeout=self.timeout)
        except WorkerTimeout as error:
            if not self.isolated:
                self._blocked = artifact.name
            error.found = f"{time.monotonic() - started:.1f} seconds"
            raise

    def _place(self, inputs: list[Any]) -> str:
        """The key of a set of inputs where candidates run; it is sent when it is not there."""
        pid = getattr(self._runner, "pid", None)
        for key, (sent_inputs, where) in self._sent.items():
            if sent_inputs is inputs and where == pid and (pid is not None or not self.isolated):
                return key
        key = self.name()
        target, adapter = str(self.request.target), self.request.adapter
        self._runner.call(session.receive_inputs, key, target, adapter, packed(inputs))
        self._sent[key] = (inputs, getattr(self._runner, "pid", None))
        return key


def packed(inputs: Sequence[Any]) -> list[Any]:
    """The inputs as plain data. Raises TilecoreError, which names the input, for one that cannot be sent."""
    packed_inputs = []
    for number, value in enumerate(inputs):
        try:
            packed_inputs.append(pack(value))
        except TilecoreError as error:
            error.message = f"input {number}: {error.message}"
            raise
    return packed_inputs
