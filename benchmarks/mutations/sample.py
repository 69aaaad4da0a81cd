"""The sample backend: what ``tilecore new-backend acme`` writes, with a toolchain and an adapter as its author adds
them next, and mutations of it."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.mutations.records import Mutation
from tilecore.scaffold.package import write_package

NAME = "acme"
OWN = Path(__file__).parent / "sample"
PACKAGE = f"tile_{NAME}"


class NotOnce(ValueError):
    """What a mutation replaces does not stand in its file exactly once."""


def write_sample(folder: Path) -> Path:
    """A folder for PYTHONPATH: the package and what says that it is installed."""
    write_package(NAME, folder)
    for path in sorted(OWN.glob("*.py")):
        shutil.copyfile(path, folder / PACKAGE / path.name)
    info = folder / f"{PACKAGE}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tile-{NAME}\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[tilecore.backends]\n{NAME} = {PACKAGE}.plugin\n")
    return folder


def mutated(text: str, mutation: Mutation) -> str:
    """The file's text with the mistake in it."""
    count = text.count(mutation.text)
    if count != 1:
        raise NotOnce(f"{mutation.name}: its text stands {count} times in {mutation.file}:\n{mutation.text}")
    if mutation.by == mutation.text:
        raise NotOnce(f"{mutation.name}: it changes nothing")
    return text.replace(mutation.text, mutation.by)


def plant(sample: Path, mutation: Mutation, folder: Path) -> Path:
    """A copy of the sample with the mistake in it."""
    shutil.copytree(sample, folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / mutation.file
    path.write_text(mutated(path.read_text(), mutation))
    return folder
