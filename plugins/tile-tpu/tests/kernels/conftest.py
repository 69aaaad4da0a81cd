"""The kernels are in this folder and in examples/. Each test runs on tile-tpu's simulator, and on the vendor's where
its wheel is installed; then the outputs of both are compared."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [os.fspath(_HERE), os.fspath(_HERE.parents[3] / "examples")]


@pytest.fixture(scope="session", autouse=True)
def _private(tmp_path_factory: pytest.TempPathFactory):
    """A kernel cache for this session, in which the simulator is built once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CACHE_DIR", os.fspath(tmp_path_factory.mktemp("cache")))
        yield
