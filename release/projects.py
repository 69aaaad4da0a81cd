"""The distributions of this repository that a release has, their version, and the Pythons that it supports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 5_000_000  # of a wheel


class ReleaseError(Exception):
    """The release cannot be built, or a file of it is wrong; the message says what to do."""


@dataclass(frozen=True)
class Project:
    name: str
    folder: str  # in the repository
    package: str  # the package that its wheel has
    has_extensions: bool = False
    has_type_marker: bool = True  # py.typed
    modules: tuple[str, ...] = ()  # files beside the package

    @property
    def file_name(self) -> str:
        """The name as it stands in names of files."""
        return self.name.replace("-", "_")


PROJECTS = (
    Project("tilecore-runtime", "tilecore-runtime", "tilecore", has_extensions=True),
    Project(
        "tilecore", ".", "tilecore", has_type_marker=False, modules=("tilecore_pytest.py",)
    ),  # no marker: the runtime's
    Project("tile-cuda", "plugins/tile-cuda", "tile_cuda", has_extensions=True),
    Project("tile-hip", "plugins/tile-hip", "tile_hip"),
    Project("tile-metal", "plugins/tile-metal", "tile_metal"),
    Project("tile-tpu", "plugins/tile-tpu", "tile_tpu"),
)
PLUGINS = tuple(project.name for project in PROJECTS if project.folder.startswith("plugins/"))


def text_of(project: Project, root: Path = ROOT) -> str:
    return (root / project.folder / "pyproject.toml").read_text()


def version_of_release(root: Path = ROOT) -> str:
    """The version that all distributions have."""
    versions: dict[str, str] = {}
    for project in PROJECTS:
        match = re.search(r'^version = "(.+)"$', text_of(project, root), re.MULTILINE)
        versions[project.name] = match[1] if match else "none"
    if len({*versions.values()}) > 1:
        listed = ", ".join(f"{name} {version}" for name, version in versions.items())
        raise ReleaseError(f"all distributions have one version, but these differ: {listed}; edit their pyproject.toml")
    version = versions["tilecore"]
    if f'"tilecore-runtime=={version}"' not in text_of(PROJECTS[1], root):
        raise ReleaseError(f"pyproject.toml: tilecore {version} must depend on tilecore-runtime=={version}")
    return version


def supported_pythons(root: Path = ROOT) -> list[str]:
    """Such as "3.10", from the classifiers of tilecore-runtime."""
    pattern = r"Programming Language :: Python :: (3\.\d+)\""
    return re.findall(pattern, text_of(PROJECTS[0], root))


def extras_of_backends(root: Path = ROOT) -> dict[str, set[str]]:
    """The packages of this repository that each extra of tilecore brings, by the extra's name."""
    section = text_of(PROJECTS[1], root).partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    extras = {name: {*re.findall(r'"(.+?)"', words)} for name, words in re.findall(r"^(\w+) = \[(.*)\]", section, re.M)}
    for packages in extras.values():
        for package in [*packages]:
            inner = re.fullmatch(r"tilecore\[(.+)\]", package)
            if inner:
                packages |= set().union(*(extras[extra.strip()] for extra in inner[1].split(",")))
                packages.discard(package)
    return {name: packages for name, packages in extras.items() if packages and packages <= {*PLUGINS}}
