"""Runs work in processes of its own, as a fault of a device's memory ends the process, and a kernel may never end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

_POLL = 0.2  # seconds
_END = 30  # seconds that an ended process may take to go away
_START = 180  # seconds that a process may take until its first check: torch and the compiler are imported


def worker(place: str) -> tuple[str, ...]:
    """The command of the worker of the first run at ``place`` (plan.py), without its further arguments."""
    return sys.executable, "-m", "tilecore.testing.first_run.worker", place


def results(
    program: Sequence[str], kind: str, options: list[str], seconds: float, told: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """The records of a worker's checks or benchmarks (worker.py). What ends the process, or takes longer than
    ``seconds``, is a record with the outcome "failed", and another process does the rest. told: is called with the name
    of each when it starts. program: the command of the worker, without its arguments."""
    done, is_over = 0, False
    with tempfile.TemporaryDirectory(prefix="tilecore-") as folder:
        while not is_over:
            lines, errors = Path(folder, f"{done}.jsonl"), Path(folder, f"{done}.txt")
            records = _Reader(lines)
            with errors.open("wb") as out:
                words = [*program, os.fspath(lines), kind, *options, str(done)]
                process = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True)
            try:
                for record in _watched(process, records, seconds, told):
                    done += 1
                    yield record
            finally:
                stop(process)
            is_over = process.returncode == 0
            if is_over:
                return
            name = records.started or f"{kind}: start"
            text = errors.read_bytes().decode(errors="replace").strip()[-2000:]
            yield {"name": name, "outcome": "failed", "why": ended(process, seconds), "output": text}
            if not records.started:  # the process cannot even start its work
                return
            done += 1


class _Reader:
    """Reads the lines that a worker has written so far. started: the name of what it does now; "" for nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._count = 0
        self.started = ""

    def new(self) -> list[dict[str, Any]]:
        try:
            lines = self._path.read_text().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        fresh = [line for line in lines[self._count :] if line.endswith("\n")]
        self._count += len(fresh)
        return [json.loads(line) for line in fresh]


def _watched(
    process: subprocess.Popen[bytes], records: _Reader, seconds: float, told: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    deadline = time.monotonic() + _START + seconds
    while True:
        has_ended = process.poll() is not None
        for record in records.new():
            deadline = time.monotonic() + seconds
            if "start" in record:
                records.started = record["start"]
                told(records.started)
            else:
                records.started = ""
                yield record
        if has_ended or time.monotonic() > deadline:
            return
        time.sleep(_POLL)


def stop(process: subprocess.Popen[bytes], gently: float = 0) -> None:
    """Ends a process and its children. gently: seconds that they have, after an interrupt, to write what they found."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            if gently and process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(gently)
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # the system may wait for the device for ever
        process.wait(_END)


def ended(process: subprocess.Popen[bytes], seconds: float) -> str:
    """How a process ended, in words."""
    code = process.returncode
    if code is None:
        return f"it took longer than {seconds:.0f} seconds, and the system cannot end it: a device may hang"
    if code == -9:  # SIGKILL
        return f"it took longer than {seconds:.0f} seconds and was ended"
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}, as a fault of the device's memory does"
    return f"its process ended with code {code}"
