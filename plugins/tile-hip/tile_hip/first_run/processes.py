"""Runs work in processes of its own, as a fault of a GPU's memory ends the process, and a kernel may never end."""

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

WORKER = (sys.executable, "-m", "tile_hip.first_run.worker")
_POLL = 0.2  # seconds
_START = 180  # seconds that a process may take until its first check: torch and the compiler are imported


def results(
    kind: str, options: list[str], seconds: float, told: Callable[[str], None], program: Sequence[str] = WORKER
) -> Iterator[dict[str, Any]]:
    """The records of a worker's checks or benchmarks (worker.py). What ends the process, or takes longer than
    ``seconds``, is a record with the outcome "failed", and another process does the rest. told: is called with the name
    of each when it starts. program: the worker's command, without its arguments."""
    done, is_over = 0, False
    with tempfile.TemporaryDirectory(prefix="tile-hip-") as folder:
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
            yield {"name": name, "outcome": "failed", "why": ended(process.returncode, seconds), "output": text}
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
    with contextlib.suppress(ProcessLookupError):
        if gently and process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(gently)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def ended(code: int, seconds: float) -> str:
    """How a process ended, in words."""
    if code == -signal.SIGKILL:
        return f"it took longer than {seconds:.0f} seconds and was ended"
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}, as a fault of the GPU's memory does"
    return f"its process ended with code {code}"
