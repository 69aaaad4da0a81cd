"""The host's C++ compiler: found on the PATH, or PyPI's ziglang."""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass

from tilecore import debug
from tilecore.errors import ToolchainError

_NAMES = ("c++", "g++", "clang++")


@dataclass(frozen=True)
class HostCompiler:
    """command: how it is called. family: "gcc", "clang" or "zig". version: its first line of ``--version``."""

    command: tuple[str, ...]
    family: str
    version: str

    def run(self, arguments: list[str], task: str, cwd: str | None = None) -> None:
        """Run the compiler; raises ToolchainError with its output when it fails.

        task: the text that is compiled, in words."""
        command = [*self.command, *arguments]
        debug.say(debug.TOOLS, shlex.join(command))
        ended = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
        if ended.returncode:
            raise ToolchainError(
                f"the host compiler could not compile {task}",
                found=f"{shlex.join(self.command)} ({self.version}):\n{(ended.stderr or ended.stdout).strip()}",
            )


def candidates() -> list[tuple[str, ...]]:
    """Commands in the order in which they are tried; CXX first."""
    user_command = os.environ.get("CXX", "").strip()
    commands = [tuple(shlex.split(user_command))] if user_command else []
    commands += [(path,) for name in _NAMES if (path := shutil.which(name))]
    if importlib.util.find_spec("ziglang") is not None:
        commands.append((sys.executable, "-m", "ziglang", "c++"))
    return commands


def find_compiler() -> HostCompiler:
    """The first compiler that answers; raises ToolchainError when there is none."""
    commands = candidates()
    for command in commands:
        compiler = _probe(command)
        if compiler is not None:
            return compiler
    tried = ", ".join(shlex.join(c) for c in commands)
    raise ToolchainError(
        "the simulated device needs a C++ compiler on this machine",
        found=f"none of {tried} runs" if tried else f"no {', '.join(_NAMES)} on the PATH, no ziglang package, no CXX",
        expected="g++ 11 or newer, clang++ 14 or newer, or the package ziglang",
        hint="install g++, or: pip install ziglang",
    )


@functools.lru_cache(maxsize=16)
def _probe(command: tuple[str, ...]) -> HostCompiler | None:
    version = _output([*command, "--version"])
    if not version:
        return None
    first = version.splitlines()[0]
    if "ziglang" in command or os.path.basename(command[0]).startswith("zig"):
        return HostCompiler(command, "zig", first)
    return HostCompiler(command, "clang" if "clang" in version else "gcc", first)


def _output(command: list[str]) -> str:
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""
