"""Builds go on without their extensions, except where TILECORE_REQUIRE_EXTENSIONS is set, as for a release."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tilecore

ROOT = Path(__file__).parents[3]
PACKAGE = Path(tilecore.__file__).parent
CYTHONIZE = """
def cythonize(extensions, **options):
    open("translated.c", "w").close()
    for extension in extensions:
        extension.sources = ["translated.c"]
    return extensions
"""


@pytest.fixture(params=["tilecore-runtime", "tile-cuda"])
def project(request, tmp_path):
    """A copy of what the build of its extensions reads."""
    if importlib.util.find_spec("setuptools") is None:
        pytest.skip("setuptools is not installed")
    folder = tmp_path / "project"
    folder.mkdir()
    source = ROOT / ("tilecore-runtime" if request.param == "tilecore-runtime" else "plugins/tile-cuda")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(source / name, folder)
    if request.param == "tile-cuda":
        shutil.copytree(source / "tile_cuda" / "launch", folder / "tile_cuda" / "launch")
        return folder
    sources = (*PACKAGE.glob("**/*.pyx"), *PACKAGE.glob("runtime/*.h"), PACKAGE / "installation.py")
    for path in (*sources, PACKAGE / "__init__.py"):
        copy = folder / "tilecore" / path.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return folder


@pytest.fixture(params=["no Cython", "no C compiler"])
def obstacle(request, tmp_path):
    """A module Cython that cannot be imported, or that translates in no time, for a compiler that fails."""
    folder = tmp_path / "modules" / "Cython"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('absent')" if request.param == "no Cython" else "")
    (folder / "Build.py").write_text(CYTHONIZE)
    return folder.parent


def build(folder: Path, modules: Path, required: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CC": "false", "LDSHARED": "false", "PYTHONPATH": str(modules)}
    environment["TILECORE_REQUIRE_EXTENSIONS"] = required
    command = [sys.executable, "setup.py", "build_ext"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_extensions_are_optional(project, obstacle):
    ended = build(project, obstacle, required="0")
    assert ended.returncode == 0, ended.stderr
    assert "cannot be built here (" in ended.stderr
    assert "takes its place" in ended.stderr


def test_a_build_that_requires_them_fails(project, obstacle):
    ended = build(project, obstacle, required="1")
    assert ended.returncode != 0
    assert "cannot be built here (" in ended.stderr
    assert "TILECORE_REQUIRE_EXTENSIONS is set" in ended.stderr
