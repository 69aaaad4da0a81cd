"""The kernels lie beside this file and in examples/. Each test runs on our simulator, and on the vendor's where its
wheel is; there both outputs are compared."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [os.fspath(_HERE), os.fspath(_HERE.parents[3] / "examples")]


@pytest.fixture(scope="session", autouse=True)
def _private(tmp_path_factory: pytest.TempPathFactory):
    """No cache but this session's; the simulator is built once in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CACHE_DIR", os.fspath(tmp_path_factory.mktemp("cache")))
        yield
