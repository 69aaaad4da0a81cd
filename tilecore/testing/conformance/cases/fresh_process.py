"""Programs in processes of their own, which find what this one finds: kernels that are loaded rather than compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

PRELUDE = """
import hashlib, json, sys
import numpy as np
from tilecore.testing.conformance.cases.on_device import ready

def digest(kernel):
    return hashlib.sha256(kernel.get_kernel_source().encode()).hexdigest()

"""
SECONDS = 240


def start(program: str, *words: str, **environment: str) -> subprocess.Popen[str]:
    """A process that runs the program, with ``words`` as ``sys.argv[1:]``."""
    settings: dict[str, str] = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
    command = [sys.executable, "-c", PRELUDE + program, *words]
    return subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    """The last line that it printed."""
    try:
        output, errors = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    words = next((line for line in errors.splitlines()[::-1] if "Error" in line), "it printed nothing")
    assert process.returncode == 0, f"{words}\n{output}{errors}"
    assert output, f"{words}\n{errors}"
    return output.splitlines()[-1]


def run(program: str, *words: str, **environment: Any) -> str:
    return finish(start(program, *words, **environment))
