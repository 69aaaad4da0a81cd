"""Reads the variables that an ``envsetup.sh`` sets, by running it in a separate shell with an almost empty
environment."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tilecore.errors import ToolchainError

SECONDS = 20.0  # the timeout of a script
_INHERITED = ("HOME", "PATH", "CHIP", "LANG")  # the variables of this process that the script gets
_SHELL_VARIABLES = {"_", "PWD", "OLDPWD", "SHLVL"}


def sourced(script: Path, seconds: float = SECONDS) -> Mapping[str, str]:
    """The variables that ``script`` sets or changes.

    The script does not change this process, and its output is only used for an error. Raises ToolchainError where it
    fails, exits, or takes longer than ``seconds``.
    """
    path = script.resolve()
    base = tuple((name, os.environ[name]) for name in _INHERITED if name in os.environ)
    try:
        stamp = path.stat().st_mtime_ns
    except OSError as error:
        raise ToolchainError(f"{script} cannot be read: {error.strerror}") from None
    return _sourced(path, stamp, base, seconds)


@functools.lru_cache(maxsize=8)
def _sourced(path: Path, stamp: int, base: tuple[tuple[str, str], ...], seconds: float) -> Mapping[str, str]:
    before = dict(base)
    with tempfile.TemporaryDirectory(prefix="tilecore-") as folder:
        answer = Path(folder) / "variables"
        # "$0" is the path of the answer, as "$1" and on would be arguments of the script. The script is sourced on a
        # line of its own: in a list with && its set -e would have no effect
        text = f'. {_quoted(path)}\n[ "$?" = 0 ] || exit 1\nenv -0 > "$0"'
        command = ["bash", "--noprofile", "--norc", "-c", text, os.fspath(answer)]
        output, code = _run(command, before, path, folder, seconds)
        text = answer.read_bytes().decode(errors="replace") if answer.exists() else ""
    if not text:
        raise ToolchainError(
            f"{path} does not set up an environment",
            found=f"its shell ended with code {code}: {output.strip()[-400:] or 'no output'}",
            hint="source it in a shell to see what is wrong, or set PPL_PROJECT_ROOT to the SDK's folder",
        )
    pairs = (item.partition("=") for item in text.split("\0") if "=" in item)
    return {
        name: value for name, _, value in pairs if name not in _SHELL_VARIABLES and before.get(name) != value
    }  # fmt: skip


def _run(command: list[str], env: dict[str, str], path: Path, folder: str, seconds: float) -> tuple[str, int]:
    """(the output of the command, its exit code)"""
    try:
        process = subprocess.Popen(
            command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, text=True, errors="replace",
        )  # fmt: skip
    except OSError as error:
        raise ToolchainError(f"{path} needs bash to be read: {error.strerror}", hint="install bash") from None
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise ToolchainError(
            f"{path} did not end within {seconds:g} s", hint="set PPL_PROJECT_ROOT to the SDK's folder instead"
        ) from None
    return output, process.returncode


def _quoted(path: Path) -> str:
    return "'" + os.fspath(path).replace("'", "'\\''") + "'"
