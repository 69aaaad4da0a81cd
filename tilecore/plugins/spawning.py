"""Asks :mod:`tilecore.plugins.probe` in fresh interpreters that see the same sys.path, under a deadline."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from tilecore.interrupts import safe_point
from tilecore.plugins.interrupts import interrupted_later

_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tilecore.plugins.probe import main; main()"
_AT_ONCE = min(4, os.cpu_count() or 1)

Answer = dict[str, Any] | int | None


def spawn_all(kinds: Sequence[str], whole: bool, timeout: float) -> list[Answer]:
    """The answer for each kind, in order; the exit code of a process that ended without an answer; None for a process
    that was killed after ``timeout`` seconds. At most 4 processes run in parallel."""
    answers: dict[str, Answer] = {}
    waiting = list(kinds)
    running: list[_Child] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            while waiting or running:
                while waiting and len(running) < _AT_ONCE:
                    with interrupted_later():
                        running.append(_Child(waiting.pop(0), whole, folder, timeout))
                for child in [child for child in running if child.ended()]:
                    running.remove(child)
                    answers[child.kind] = child.answer()
                safe_point()
                time.sleep(0.003)
        finally:  # Ctrl-C does not reach the processes: each has its own session
            for child in running:
                child.kill()
    return [answers[kind] for kind in kinds]


class _Child:
    """One interpreter. It answers through a file, since processes that the plugin started may hold a pipe open."""

    def __init__(self, kind: str, whole: bool, parent: str, timeout: float) -> None:
        self.kind = kind
        folder = tempfile.mkdtemp(dir=parent)
        self._file = os.path.join(folder, "answer.json")
        command = [sys.executable, "-c", _START, json.dumps(sys.path), kind, str(int(whole)), self._file]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        self._deadline = time.monotonic() + timeout

    def ended(self) -> bool:
        """Whether the process has ended or its time is over."""
        return self._process.poll() is not None or time.monotonic() > self._deadline

    def answer(self) -> Answer:
        code = self._process.poll()
        if code is None:
            self.kill()
        try:
            with open(self._file, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return code

    def kill(self) -> None:
        """Kill the process and the processes that it started."""
        if sys.platform == "win32":
            self._process.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
