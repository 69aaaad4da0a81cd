"""Starts programs in an environment without settings of the caller."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from release.projects import ReleaseError

# what would reach the compiler, the modules or the kernels of a program
_LEFT_OUT = (
    "TILECORE_",
    "PYTHON",
    "PIP_CONSTRAINT",
    "CC",
    "CXX",
    "CFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "LDSHARED",
    "VIRTUAL_ENV",
)
_SHOWN_LINES = 40


def clean_environment() -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith(_LEFT_OUT)}
    return {**kept, "PYTHONNOUSERSITE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def output_of(command: Sequence[str | Path], *, folder: Path | None = None, **variables: str) -> str:
    """What the program prints to standard output; its end must be a good one."""
    words = [str(word) for word in command]
    environment = {**clean_environment(), **variables}
    try:
        ended = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ReleaseError(f"{words[0]} cannot be started: {error}") from error
    if ended.returncode:
        lines = (ended.stdout + ended.stderr).strip().splitlines()[-_SHOWN_LINES:]
        raise ReleaseError("\n".join([f"this ended with status {ended.returncode}: {' '.join(words)}", *lines]))
    return ended.stdout


def with_variables(command: Sequence[str | Path], variables: Mapping[str, str]) -> list[str | Path]:
    """The command with environment variables, also where something that clears the environment starts it."""
    return ["env", *(f"{name}={text}" for name, text in variables.items()), *command]
