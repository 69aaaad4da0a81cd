"""A wheel is built from the source distribution of tilecore, whose setup.py reads a file of the other distribution."""

from __future__ import annotations

import importlib.util
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from fresh_processes import output_of

import tilecore

ROOT = Path(__file__).parents[3]
PACKAGE = Path(tilecore.__file__).parent
# some modules of both distributions
OF_COMPILER = ("tilecore/lowering/__init__.py", "tilecore/cli.py")
OF_RUNTIME = ("tilecore/__init__.py", "tilecore/installation.py", "tilecore/errors.py")


def build(kind: str, folder: Path) -> Path:
    output_of(f"from setuptools import build_meta; build_meta.build_{kind}('out')", folder=folder)
    (file,) = (path for path in (folder / "out").iterdir() if path.suffix in (".gz", ".whl"))
    return file


def test_a_wheel_is_built_from_it(tmp_path):
    if importlib.util.find_spec("setuptools") is None:
        pytest.skip("setuptools is not installed")
    checkout = tmp_path / "checkout"
    for name in (*OF_COMPILER, *OF_RUNTIME):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE.parent / name, checkout / name)
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    (checkout / "tests").mkdir()
    (checkout / "tests" / "test_x.py").touch()
    with tarfile.open(build("sdist", checkout)) as archive:
        archive.extractall(tmp_path)
    (unpacked,) = tmp_path.glob("tilecore-*")
    files = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*.py")}
    assert files == {"setup.py", "tilecore/installation.py", *OF_COMPILER}
    names = zipfile.ZipFile(build("wheel", unpacked)).namelist()
    assert {name for name in names if "dist-info" not in name} == {*OF_COMPILER}
