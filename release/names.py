"""The names that the files of a release must have: which Pythons and which systems each is for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from release.projects import PROJECTS, Project

GLIBC = "2.17"  # of 2014: the oldest for which pip of today takes wheels of both architectures
MACHINES = ("x86_64", "aarch64")


def platform_tag(machine: str) -> str:
    return f"manylinux_{GLIBC.replace('.', '_')}_{machine}"


def python_tag(version: str) -> str:
    return f"cp{version.replace('.', '')}"


def extension_ending(version: str, machine: str) -> str:
    return f".cpython-{version.replace('.', '')}-{machine}-linux-gnu.so"


def problems_of_names(files: Iterable[Path], version: str, pythons: Iterable[str], machine: str) -> Iterator[str]:
    """What is missing in a release, or must not be there."""
    files, pythons = list(files), list(pythons)
    expected = set(expected_files(version, pythons, machine))
    present = set()
    for file in files:
        try:
            present |= set(_kinds(file))
        except InvalidWheelFilename as error:
            yield str(error)
    for project, what in sorted(expected - present):
        yield f"{project} {version}: {what} is missing"
    for project, what in sorted(present - expected):
        yield f"{project}: {what} does not belong to the release {version}"


def expected_files(version: str, pythons: Iterable[str], machine: str) -> Iterator[tuple[str, str]]:
    """(project, which of its files)"""
    pythons = list(pythons)
    for project in PROJECTS:
        yield project.name, f"{project.file_name}-{version}.tar.gz"
        if project.has_extensions:
            tags = [python_tag(python) for python in pythons]
            yield from ((project.name, _wheel(version, f"{tag}-{tag}-{platform_tag(machine)}")) for tag in tags)
        else:
            yield project.name, _wheel(version, "py3-none-any")


def _wheel(version: str, tag: str) -> str:
    return f"the wheel {version} {tag}"


def _kinds(file: Path) -> Iterator[tuple[str, str]]:
    if file.suffix != ".whl":
        yield file.name.partition("-")[0].replace("_", "-"), file.name
        return
    name, version, _, tags = parse_wheel_filename(file.name)
    # a name has other words for the same systems, too: manylinux2014 is manylinux_2_17
    named = sorted(str(tag) for tag in tags if not tag.platform.startswith("manylinux2"))
    yield from ((str(name), _wheel(str(version), tag)) for tag in named or map(str, tags))


def project_of(file: Path) -> Project:
    (project,) = (p for p in PROJECTS if p.file_name == file.name.partition("-")[0])
    return project


def python_of(wheel: Path) -> str:
    """Such as "3.12", of a wheel for one Python; "" of one for all."""
    tag = next(iter(parse_wheel_filename(wheel.name)[3]))
    digits = tag.interpreter.removeprefix("cp")
    return f"{digits[0]}.{digits[1:]}" if tag.interpreter.startswith("cp") else ""
