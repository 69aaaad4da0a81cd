"""The wheels of this checkout's projects, and environments where some of them are installed and nothing else is.

``.ci/run`` installs wheels from the folder that TILECORE_TEST_WHEELS names; elsewhere they are built, in a minute.
"""

from __future__ import annotations

import importlib.machinery
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLUGINS = ("tile-cuda", "tile-hip", "tile-metal", "tile-tpu")
PARTS = (
    "tilecore",
    "tilecore-runtime",
    "plugins",
    "tilecore_pytest.py",
    "setup.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)


def wheels_of(folder: Path) -> dict[str, Path]:
    """The wheels of tilecore, tilecore-runtime and the plugins, by project. Skips where they cannot be built."""
    given = os.environ.get("TILECORE_TEST_WHEELS")
    if given is None:
        given = str(folder)
        _build(folder)
    names = {path.name.partition("-")[0].replace("_", "-"): path for path in Path(given).glob("*.whl")}
    assert {"tilecore", "tilecore-runtime", *PLUGINS} <= names.keys()
    return names


def _build(folder: Path) -> None:
    if not (ROOT / "tilecore").is_dir():
        pytest.skip("there is no source to build wheels from, and TILECORE_TEST_WHEELS names no folder of wheels")
    if any(importlib.machinery.PathFinder.find_spec(name) is None for name in ("setuptools", "pip")):
        pytest.skip("pip and setuptools are needed to build wheels")
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__", "build", "*.egg-info", "*.so")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, ignore=ignored)
        else:
            shutil.copy(ROOT / part, source / part)
    projects = [source, source / "tilecore-runtime", *(source / "plugins" / name for name in PLUGINS)]
    words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    python(sys.executable, *words, *map(str, projects), folder=folder)


class Environment:
    """A virtual environment: Python's own modules, what is linked from the environment of the tests, and wheels."""

    def __init__(self, folder: Path, *linked: str) -> None:
        python(sys.executable, "-m", "venv", "--without-pip", str(folder), folder=folder.parent)
        self.folder = folder
        self.python = str(folder / "bin" / "python")
        (self.site,) = folder.glob("lib/python*/site-packages")
        for name in linked:
            self._link(name)

    def _link(self, project: str) -> None:
        """An installed project, which nothing is downloaded for."""
        distribution = metadata.distribution(project)
        tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            (self.site / top).symlink_to(Path(str(distribution.locate_file(top))))

    def pip(self, *words: str | Path) -> str:
        command = ("-m", "pip", "--disable-pip-version-check", "--python", self.python)
        return python(sys.executable, *command, *map(str, words), folder=self.folder)

    def install(self, *wheels: Path) -> None:
        self.pip("install", "--quiet", "--no-index", "--no-deps", *wheels)

    def run(self, code: str, *words: str | Path, **variables: str) -> str:
        """What the code prints, in the environment alone."""
        return python(self.python, "-I", "-c", code, *map(str, words), folder=self.folder, **variables)


def python(program: str, *words: str, folder: Path, **variables: str) -> str:
    """What the program prints to its standard output; the test fails where it fails."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("TILECORE_", "PYTHON"))}
    environment = {**kept, "TILECORE_CACHE_DIR": str(folder / "kernels"), **variables}
    ended = subprocess.run([program, *words], env=environment, cwd=folder, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
