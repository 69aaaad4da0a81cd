"""A cache of its own for every test, and an installed backend that misbehaves on request."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "fixtures" / "moody_backend"))
from moody_install import moody_backend


@pytest.fixture(autouse=True)
def fresh_caches(tmp_path, monkeypatch):
    from tilecore.jit.compile import _kernels

    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "cache"))
    _kernels.clear()


@pytest.fixture(scope="module")
def moody(tmp_path_factory):
    """The target "moody", installed as a package, so that worker processes find it too."""
    with moody_backend(tmp_path_factory.mktemp("site")) as kind:
        yield kind
