"""Sites: folders with installed packages, made by hand (module plus .dist-info), for subprocesses to import from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from broken_packages import BrokenPackage

REPOSITORY = Path(__file__).parents[2]


class Site:
    """A folder on the PYTHONPATH of subprocesses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, package: str, version: str, kind: str, value: str, *, metadata: bool = True) -> None:
        """The .dist-info of a package that offers ``kind`` at ``value``."""
        entry_points = f"[tilecore.backends]\n{kind} = {value}\n"
        self.install_raw(package, version, entry_points.encode(), metadata=metadata)

    def install_raw(self, package: str, version: str, entry_points: bytes, *, metadata: bool = True) -> None:
        info = self.folder / f"{package.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_bytes(entry_points)
        if metadata:
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")

    def add_module(self, source: Path, name: str | None = None) -> None:
        """Copy a module."""
        (self.folder / (name or source.name)).write_bytes(source.read_bytes())

    def add_broken(self, package: BrokenPackage, version: str) -> None:
        """Install a package of the tables of broken ones."""
        (self.folder / f"{package.kind}.py").write_text(package.text())
        self.install(package.package, version, package.kind, f"{package.kind}:plugin")

    def run(self, *words: str, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
        """``python *words`` with this site and tilecore on its path."""
        path = os.pathsep.join([str(self.folder), str(REPOSITORY)])
        settings = {k: v for k, v in os.environ.items() if not k.startswith("TILECORE_")}
        settings |= {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "", **environment}
        return subprocess.run(
            [sys.executable, *words], env=settings, cwd=self.folder, capture_output=True, text=True, timeout=timeout
        )

    def cli(self, *words: str, **environment: str) -> dict:
        """The JSON that ``tilecore *words --json`` prints, with its exit code as "code"."""
        ended = self.run("-m", "tilecore", *words, "--json", **environment)
        try:
            return {**json.loads(ended.stdout), "code": ended.returncode, "stderr": ended.stderr}
        except ValueError:
            pytest.fail(f"tilecore {' '.join(words)} printed no JSON:\n{ended.stdout}\n{ended.stderr}")

    def evaluate(self, code: str, **environment: str) -> Any:
        """The JSON that ``code`` prints."""
        imports = "import json, sys\nfrom tilecore.plugins import manager, probe"
        ended = self.run("-c", f"{imports}\n{code}", **environment)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def pip_install(self, source: Path) -> None:
        """Install the package in ``source``, which a build writes into."""
        words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(self.folder)]
        ended = subprocess.run(
            [sys.executable, "-m", "pip", *words, str(source)], capture_output=True, text=True, timeout=120
        )
        assert ended.returncode == 0, ended.stderr


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture(scope="session")
def make_site(tmp_path_factory: pytest.TempPathFactory):
    """Makes sites that several tests share."""
    return lambda name: Site(tmp_path_factory.mktemp(name))


@pytest.fixture(scope="session")
def acme(make_site, tmp_path_factory):
    """tile-acme, as `tilecore new-backend` writes it, installed by pip; ``package`` is its folder."""
    site, folder = make_site("acme"), tmp_path_factory.mktemp("written") / "tile-acme"
    ended = site.run("-m", "tilecore", "new-backend", "acme", "--into", str(folder))
    assert ended.returncode == 0, ended.stderr
    assert f"pip install -e '{folder}[test]'" in ended.stdout
    site.pip_install(folder)
    site.package = folder
    return site
