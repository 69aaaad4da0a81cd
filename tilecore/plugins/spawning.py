"""Asks :mod:`tilecore.plugins.probe` in fresh interpreters that see the same sys.path, under a deadline."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tilecore.plugins.probe import main; main()"


def spawn_all(kinds: Sequence[str], whole: bool, timeout: float) -> list[dict[str, Any] | int | None]:
    """The answer for each kind, in order; or the exit code of a process that ended without one; or None for one that
    was killed after ``timeout`` seconds. A few run at once."""
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda kind: _spawn(kind, whole, timeout), kinds))


def _spawn(kind: str, whole: bool, timeout: float) -> dict[str, Any] | int | None:
    """The answer travels by file, since a pipe can be held open by whatever the plugin started."""
    with tempfile.TemporaryDirectory() as folder:
        answer = os.path.join(folder, "answer.json")
        command = [sys.executable, "-c", _START, json.dumps(sys.path), kind, str(int(whole)), answer]
        quiet = subprocess.DEVNULL
        child = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            _kill(child)
            return None
        try:
            with open(answer, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return code


def _kill(child: subprocess.Popen[bytes]) -> None:
    """The child and whatever it started."""
    if sys.platform == "win32":
        child.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    child.wait()
