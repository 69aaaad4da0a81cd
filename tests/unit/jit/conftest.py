"""A cache of its own for every test, and an installed backend that misbehaves on request."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tilecore.plugins import manager

MOODY = Path(__file__).parents[2] / "fixtures" / "moody_backend" / "tile_moody.py"


@pytest.fixture(autouse=True)
def fresh_caches(tmp_path, monkeypatch):
    from tilecore.jit.compile import _kernels

    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "cache"))
    _kernels.clear()


@pytest.fixture(scope="session")
def moody(tmp_path_factory):
    """The target "moody", installed as a package, so that worker processes find it too."""
    site = tmp_path_factory.mktemp("site")
    (site / "tile_moody.py").write_bytes(MOODY.read_bytes())
    info = site / "tile_moody-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tile-moody\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tilecore.backends]\nmoody = tile_moody:plugin\n")
    sys.path.insert(0, str(site))
    manager.refresh()
    yield "moody"
    sys.path.remove(str(site))
    manager.refresh()
