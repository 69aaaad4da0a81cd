"""Installs the files of a release in new environments, as users do, and runs kernels there."""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from pathlib import Path

from packaging.requirements import Requirement

from release.build import Workshop
from release.interpreters import Interpreter, VirtualEnvironment
from release.names import project_of
from release.projects import PLUGINS, PROJECTS, ReleaseError, extras_of_backends, version_of_release

PROGRAMS = Path(__file__).with_name("trials")
# kinds of targets, which `tilecore explain --targets all` compiles for
TARGETS = ("cpu", *(name.removeprefix("tile-") for name in PLUGINS))
# no index and no setting of the caller's: nothing but the files of the release and what was downloaded for them
ALONE = {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": "", "PIP_NO_INDEX": "1"}


def requirements_of(wheels: list[Path], extras: tuple[str, ...] = ("numpy",)) -> list[str]:
    """What the wheels need of others, always and for the extras named."""
    ours = {project.name for project in PROJECTS}
    needed = set()
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            headers = archive.read(name).decode().partition("\n\n")[0]
        for line in re.findall(r"^Requires-Dist: (.+)$", headers, re.MULTILINE):
            requirement = Requirement(line)
            marker = requirement.marker
            is_wanted = marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))
            if is_wanted and requirement.name not in ours:
                needed.add(f"{requirement.name}{requirement.specifier}")
    return sorted(needed)


class Trial:
    """The environments of one Python."""

    def __init__(self, workshop: Workshop, interpreter: Interpreter) -> None:
        self.workshop = workshop
        self.interpreter = interpreter
        self.folder = workshop.folder / f"trial-{interpreter.version}"
        self.folder.mkdir()
        self.downloads = self.folder / "downloads"
        self.programs = self.folder / "programs"
        shutil.copytree(PROGRAMS, self.programs, ignore=shutil.ignore_patterns("__pycache__"))
        self.version = version_of_release()

    def environment(self, name: str) -> VirtualEnvironment:
        return self.interpreter.virtual_environment(self.folder / name)

    def download(self, environment: VirtualEnvironment) -> None:
        """What the release needs of others."""
        wheels = sorted(self.workshop.files.glob("*.whl"))
        words: list[str | Path] = ["download", "--quiet", "--only-binary", ":all:", "-c", self.workshop.constraints]
        environment.pip(*words, "--dest", self.downloads, *requirements_of(wheels))

    def install(self, environment: VirtualEnvironment, *projects: str, dry_run: bool = False) -> list[str]:
        """Installs projects, such as "tilecore[all]". Returns the names of all that is installed for them.

        dry_run: pip says what it would install, and does not.
        """
        report = self.folder / "report.json"
        links = ("--find-links", self.workshop.files, "--find-links", self.downloads)
        words: list[str | Path] = [
            "install",
            "--quiet",
            "--no-index",
            *links,
            "--only-binary",
            ":all:",
            "--report",
            report,
        ]
        words += ["--dry-run"] if dry_run else []
        environment.pip(*words, *(f"{project}=={self.version}" for project in projects), **ALONE)
        entries = json.loads(report.read_text())["install"]
        return [entry["metadata"]["name"] for entry in entries]

    def run(self, environment: VirtualEnvironment, program: str, *words: str | Path) -> str:
        cache = str(environment.folder / "kernels")
        return environment.python("-I", self.programs / program, *words, TILECORE_CACHE_DIR=cache).strip()

    def everything(self) -> list[str]:
        """What was tried."""
        exported = self.folder / "kernel.tck"
        whole = self.environment("whole")
        self.download(whole)
        self.install(whole, "tilecore")
        extras = {name: packages for name, packages in extras_of_backends().items() if len(packages) == 1}
        packages = {name: package for name, (package,) in extras.items()}
        tried = [self.run(whole, "unknown_targets.py", json.dumps(packages))]
        installed = self.install(whole, "tilecore[all]")
        if {*installed} & {*PLUGINS} != {*PLUGINS}:
            raise ReleaseError(f"tilecore[all] installed {', '.join(installed)}; it must bring {', '.join(PLUGINS)}")
        tried.append(self.run(whole, "compiles.py", exported))
        tried.append(self.explain(whole))
        alone = self.environment("alone")
        self.install(alone, "tilecore-runtime[numpy]", "tile-cuda")
        tried.append(self.run(alone, "launches.py", exported))
        return tried

    def explain(self, environment: VirtualEnvironment) -> str:
        """The kernel of the trial is compiled for every target, up to its source."""
        command = (environment.folder / "bin" / "tilecore", "explain", self.programs / "compiles.py")
        words = ("--targets", "all", "--call", "product(64, 64, 64)")
        cache = {"TILECORE_CACHE_DIR": str(environment.folder / "kernels")}
        text = environment.interpreter.run(*command[1:], *words, program=command[0], variables=cache)
        head, row = text.splitlines()[:2]
        if tuple(head.split()[1:]) != TARGETS or "refused" in row or "error" in row:
            raise ReleaseError(f"a target does not compile the kernel of the trial:\n{head}\n{row}")
        return f"compiled for {', '.join(TARGETS)}"

    def each_extra(self) -> list[str]:
        """What pip installs for every extra with a backend, in an environment that has nothing."""
        tried = []
        wheels = {project.name for project in PROJECTS}
        environment = self.environment("extras")
        for name, packages in extras_of_backends().items():
            installed = {*self.install(environment, f"tilecore[{name}]", dry_run=True)} & wheels
            expected = {"tilecore", "tilecore-runtime", *packages}
            if installed != expected:
                raise ReleaseError(f"tilecore[{name}] installs {sorted(installed)}, not {sorted(expected)}")
            tried.append(f"tilecore[{name}]")
        return tried


def size_of(files: Path) -> dict[str, int]:
    """The largest wheel of each project, in bytes."""
    sizes: dict[str, int] = {}
    for wheel in files.glob("*.whl"):
        name = project_of(wheel).name
        sizes[name] = max(sizes.get(name, 0), wheel.stat().st_size)
    return sizes
