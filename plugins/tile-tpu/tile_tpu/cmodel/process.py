"""Starts a process that runs the CModel, and sends requests to it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tile_tpu
from tile_tpu.cmodel import messages
from tile_tpu.cmodel.memory import Staging
from tile_tpu.cmodel.output import Output
from tile_tpu.cmodel.worker import forget_files

START_SECONDS = 30.0  # the timeout for the start of the CModel, which takes a quarter of a second on an idle machine
MOST_OUTPUT = 64 << 20  # the most bytes that a kernel may print in one call


class WorkerEnded(Exception):
    """The process ended, or was ended, in the middle of a request.

    reason: how it ended. last_lines: the last lines that it printed. raw: everything that it printed, with stack
    frames. is_late: it was ended because it took too long.
    """

    def __init__(self, reason: str, output: Output, is_late: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_late = is_late
        self.last_lines = output.last_lines()
        self.raw = output.raw()[-100_000:]


@dataclass(frozen=True)
class WorkerConfig:
    """runtime: "tpurt" or "bmlib". library: the path of the runtime library. environment: (name, value) of the
    variables that the process gets in addition to those of this process."""

    runtime: str
    library: str
    environment: tuple[tuple[str, str], ...] = ()


class Worker:
    """A process that has loaded the CModel. The caller must send one request at a time.

    Between requests the process is stopped (SIGSTOP), as threads of the vendor's runtime wait busily and would use a
    whole processor. The operating system wakes it when this process ends (worker.py).
    """

    def __init__(self, config: WorkerConfig) -> None:
        """Starts the process and waits until it is ready. Raises WorkerEnded."""
        self.memory = os.memfd_create("tilecore-tpu")
        self.staging = Staging(self.memory)
        self._folder = tempfile.TemporaryDirectory(prefix="tilecore-tpu-")
        self.output = Output(Path(self._folder.name))
        self._link, theirs = socket.socketpair()
        self.owner = os.getpid()
        try:
            self._process = self._start(config, theirs)
        finally:
            theirs.close()
        try:
            answer = self._wait(START_SECONDS, "to start")
        except BaseException:
            self.close()
            raise
        if "ready" not in answer:
            ended = WorkerEnded(f"its runtime did not start: {answer.get('failed')}", self.output)
            self.close()
            raise ended
        self.output.skip()
        self._signal(signal.SIGSTOP)

    def _start(self, config: WorkerConfig, theirs: socket.socket) -> subprocess.Popen[bytes]:
        facts = {"runtime": config.runtime, "library": config.library, "parent": self.owner}
        facts |= {"link": theirs.fileno(), "memory": self.memory}
        package = os.fspath(Path(tile_tpu.__file__).resolve().parent.parent)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_"))}
        env |= {"PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1", **dict(config.environment)}
        return subprocess.Popen(
            [sys.executable, "-S", "-m", "tile_tpu.cmodel.worker", json.dumps(facts)],
            stdin=subprocess.DEVNULL, stdout=self.output.out, stderr=self.output.err, cwd=self._folder.name, env=env,
            pass_fds=(theirs.fileno(), self.memory), start_new_session=True,
        )  # fmt: skip

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a request. Raises WorkerEnded where the process ends first or takes longer than ``seconds``.
        The process is ended on any error, also where this call is interrupted."""
        try:
            self._signal(signal.SIGCONT)
            with contextlib.suppress(ConnectionError):
                messages.send(self._link, request)
            answer = self._wait(seconds, "to run")
        except BaseException:
            self.close()
            raise
        self._signal(signal.SIGSTOP)
        return answer

    def _signal(self, number: int) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)

    def _wait(self, seconds: float, purpose: str) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while True:
            seconds_left = end - time.monotonic()
            if seconds_left <= 0:
                self._kill()
                raise WorkerEnded(
                    f"it took more than {seconds:g} s {purpose} and was stopped", self.output, is_late=True
                )
            if select.select([self._link], [], [], min(seconds_left, 0.5))[0]:
                break
            if self.output.size() > MOST_OUTPUT:
                self._kill()
                raise WorkerEnded(f"it printed more than {MOST_OUTPUT >> 20} MiB and was stopped", self.output)
        answer = messages.receive(self._link)
        if answer is None:
            self._reap()
            raise WorkerEnded(self._exit_reason(), self.output)
        return answer

    def _exit_reason(self) -> str:
        code = self._process.returncode
        if code is not None and code < 0:
            return f"it ended by {signal.Signals(-code).name}"
        return f"it ended the process with code {code}"

    def _reap(self) -> None:
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:  # the process has closed its socket, but still runs
            self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # the process and its children: it has its own session
        self._process.wait()

    def close(self) -> None:
        """Ends the process and removes its files."""
        if self._process.poll() is None:
            self._kill()
        self.forget()
        forget_files(self._process.pid)
        with contextlib.suppress(OSError):
            self._folder.cleanup()

    def forget(self) -> None:
        """Closes this process's descriptors of the worker, without ending it. A fork, which did not start it, does
        so."""
        self._link.close()
        self.output.close()
        if self.memory >= 0:
            os.close(self.memory)
            self.memory = -1
