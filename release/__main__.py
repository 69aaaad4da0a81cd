"""Builds, checks and tries the files of a release: ``python -m release``, which ``nox -s wheels`` runs."""

from __future__ import annotations

import argparse
import platform
import shutil
import sys
import time
from pathlib import Path

from release import interpreters
from release.build import Workshop, build_for, build_pure
from release.contents import problems_in_source, problems_in_wheel
from release.names import MACHINES, extension_ending, problems_of_names, project_of, python_of
from release.processes import output_of
from release.projects import ROOT, ReleaseError, supported_pythons, version_of_release
from release.trial import Trial, size_of

START = time.monotonic()


def say(text: str) -> None:
    print(f"[{time.monotonic() - START:4.0f} s] {text}", flush=True)


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder for the files (default: dist)")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "release", help="the folder to build in")
    parser.add_argument("--pythons", default="", help="such as 3.12,3.13 (default: all that are supported)")
    parser.add_argument(
        "--allow-missing", action="store_true", help="go on without wheels for Pythons that this machine does not have"
    )
    return parser.parse_args(words)


def find_interpreters(given: argparse.Namespace, work: Path) -> list[interpreters.Interpreter]:
    versions = given.pythons.split(",") if given.pythons else supported_pythons()
    unsupported = sorted({*versions} - {*supported_pythons()})
    if unsupported:
        raise ReleaseError(
            f"not supported: Python {', '.join(unsupported)}; there are {', '.join(supported_pythons())}"
        )
    found, missing = interpreters.find(versions, work)
    for interpreter in found:
        say(f"Python {interpreter.version}: {' '.join((*interpreter.prefix[:2], interpreter.program))}")
    for version, reasons in missing.items():
        say("\n    ".join([f"Python {version} is missing:", *reasons]))
    if missing and not given.allow_missing:
        raise ReleaseError(
            f"no wheels can be built for Python {', '.join(missing)}: install it (pyenv, uv python install, or "
            "Debian's package with its headers), or leave it out of the release with --allow-missing"
        )
    if not found:
        raise ReleaseError("there is no Python to build wheels for")
    return found


def check(workshop: Workshop, pythons: list[str]) -> None:
    """Names, contents and metadata of all files."""
    version = version_of_release()
    files = sorted(workshop.files.iterdir())
    problems = list(problems_of_names(files, version, pythons, workshop.machine))
    for file in files:
        project = project_of(file)
        if file.suffix == ".whl":
            python = python_of(file)
            ending = extension_ending(python, workshop.machine) if python else ""
            found = problems_in_wheel(file, project, ending)
        else:
            found = problems_in_source(file, project, version)
        problems += [f"{file.name}: {problem}" for problem in found]
    if problems:
        raise ReleaseError("\n".join(problems))
    output_of([sys.executable, "-m", "twine", "check", "--strict", *files])


def release(given: argparse.Namespace) -> None:
    machine = platform.machine()
    if sys.platform != "linux" or machine not in MACHINES:
        raise ReleaseError(f"wheels are built on Linux on {' or '.join(MACHINES)}; this is {sys.platform} on {machine}")
    say(f"tilecore {version_of_release()} for {machine}")
    shutil.rmtree(given.work, ignore_errors=True)
    given.work.mkdir(parents=True)
    workshop = Workshop(given.work.resolve(), machine)
    found = find_interpreters(given, workshop.folder)
    workshop.prepare()
    say("source distributions, and wheels without extensions")
    build_pure(workshop)
    for interpreter in found:
        say(f"wheels for Python {interpreter.version}")
        build_for(workshop, interpreter)
    check(workshop, [interpreter.version for interpreter in found])
    say("names, contents and metadata are right (twine check --strict)")
    for interpreter in found:
        trial = Trial(workshop, interpreter)
        say("; ".join([f"Python {interpreter.version}", *trial.everything()]))
        if interpreter is found[0]:
            say(f"pip resolves {', '.join(trial.each_extra())}")
        shutil.rmtree(trial.folder)
    hand_over(workshop, given.out)


def hand_over(workshop: Workshop, out: Path) -> None:
    """Only files that passed reach the folder that is uploaded, and no older ones are beside them."""
    if out.exists():
        strangers = [path.name for path in out.iterdir() if not path.name.endswith((".whl", ".tar.gz"))]
        if strangers:
            raise ReleaseError(f"{out} has other files than those of a release, and is left alone: {strangers[0]}")
        shutil.rmtree(out)
    shutil.copytree(workshop.files, out)
    shutil.rmtree(workshop.folder)
    for name, size in sorted(size_of(out).items()):
        say(f"{name}: {size / 1e6:.2f} MB")
    say(f"{len(list(out.iterdir()))} files in {out}")


def main(words: list[str]) -> int:
    try:
        release(arguments(words))
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
