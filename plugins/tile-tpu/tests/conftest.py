"""The tests of several folders share the modules in ``tests/vendor``. With the fixture ``no_sdk`` a test finds no SDK
of this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tilecore.plugins import manager

sys.path.insert(0, os.fspath(Path(__file__).parent / "vendor"))

VARIABLES = ("PPL_PROJECT_ROOT", "PPL_RUNTIME_PATH", "TPUC_ROOT", "SOPHGO_TPU_ROOT", "CROSS_TOOLCHAINS", "CHIP")


@pytest.fixture(scope="session", params=["sim", "cmodel"])
def backend(request: pytest.FixtureRequest) -> str:
    """The name of a simulator's execution backend; skips, with the reason, where it cannot run here."""
    resolved, target = manager.resolve("tpu")
    presence = resolved.adapters[request.param].available(target)
    if not presence.present:
        pytest.skip(presence.detail)
    return request.param


@pytest.fixture
def no_sdk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TILECORE_DATA_DIR", os.fspath(tmp_path / "data"))
