"""Finds an interpreter for each supported Python: on the PATH, pyenv's, uv's, or Debian's in a root folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from release.processes import output_of, with_variables
from release.projects import ROOT, ReleaseError

SUITES = {"3.13": "trixie", "3.14": "sid"}  # the releases of Debian that have a Python (.ci/in_debian)
QUESTION = """
import json, os, sys, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
print(json.dumps([
    "%d.%d" % sys.version_info[:2], sys.implementation.name, sys.version_info.releaselevel,
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), os.path.exists(header)]))
"""


@dataclass(frozen=True)
class Interpreter:
    version: str  # such as "3.12"
    program: str
    prefix: tuple[str, ...] = ()  # starts programs where the interpreter is

    def run(self, *words: str | Path, variables: Mapping[str, str] | None = None, program: str | Path = "") -> str:
        """What it prints; program: another one than the interpreter, such as that of its virtual environment."""
        command = with_variables([program or self.program, *words], variables or {})
        return output_of([*self.prefix, *command])

    def virtual_environment(self, folder: Path) -> VirtualEnvironment:
        self.run("-m", "venv", folder)
        return VirtualEnvironment(self, folder)


@dataclass(frozen=True)
class VirtualEnvironment:
    interpreter: Interpreter
    folder: Path

    def python(self, *words: str | Path, **variables: str) -> str:
        return self.interpreter.run(*words, program=self.folder / "bin" / "python", variables=variables)

    def pip(self, *words: str | Path, **variables: str) -> str:
        return self.python("-m", "pip", "--disable-pip-version-check", *words, **variables)


Candidate = tuple[str, tuple[str, ...]]  # a program, and what starts programs where it is


def candidates(version: str, work: Path) -> Iterator[Candidate]:
    """Programs that may be this Python. work: the folder that a root folder of Debian sees."""
    found = shutil.which(f"python{version}")
    if found:
        yield found, ()
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for folder in sorted(pyenv.glob(f"{version}.*"), reverse=True):
        yield str(folder / "bin" / "python"), ()
    if shutil.which("uv"):
        try:
            command = ("uv", "python", "find", "--system", "--no-python-downloads", "--offline", version)
            yield output_of(command, folder=Path("/")).strip(), ()
        except ReleaseError:
            pass  # it knows none
    if version in SUITES:
        yield "/usr/bin/python3", (str(ROOT / ".ci" / "in_debian"), SUITES[version], str(work))


def why_unfit(version: str, interpreter: Interpreter) -> str:
    """Why wheels for this Python cannot be built with it; empty where they can."""
    try:
        answer = json.loads(interpreter.run("-I", "-c", QUESTION))
    except (ReleaseError, ValueError) as error:
        return str(error).splitlines()[-1]
    found, implementation, level, is_free_threaded, has_header = answer
    if (found, implementation) != (version, "cpython"):
        return f"it is {implementation} {found}"
    if level != "final":
        return f"it is a pre-release ({level})"
    if is_free_threaded:
        return "it is a free-threaded build"
    return "" if has_header else "it has no Python.h (Debian: the package python3-dev)"


def find(
    versions: Sequence[str], work: Path, offers: Callable[[str, Path], Iterator[Candidate]] = candidates
) -> tuple[list[Interpreter], dict[str, list[str]]]:
    """(an interpreter for each version that has one, why the others have none)"""
    interpreters, missing = [], {}
    for version in versions:
        reasons = []
        for program, prefix in offers(version, work):
            interpreter = Interpreter(version, program, prefix)
            reason = why_unfit(version, interpreter)
            if not reason:
                interpreters.append(interpreter)
                break
            reasons.append(f"{' '.join((*prefix, program))}: {reason}")
        else:
            missing[version] = reasons or [f"there is no python{version} on the PATH, pyenv's or uv's"]
    return interpreters, missing
