"""What these tests share lies in ``tests/vendor``. With ``no_sdk`` a test sees no SDK of this machine; ``device`` is a
CModelDevice on a runtime of the tests' own, ``kernels`` a library for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tile_tpu.chips import BM1690
from tile_tpu.cmodel import pool
from tile_tpu.cmodel.device import CModelDevice
from tile_tpu.cmodel.kernel_files import kernel_library
from tile_tpu.toolchain.compile import for_cmodel
from tile_tpu.toolchain.sdk import Sdk

HERE = Path(__file__).parent
sys.path[:0] = [os.fspath(HERE), os.fspath(HERE.parent / "vendor")]
from fake_vendor import KERNELS, release  # noqa: E402

VARIABLES = ("PPL_PROJECT_ROOT", "PPL_RUNTIME_PATH", "TPUC_ROOT", "SOPHGO_TPU_ROOT", "CROSS_TOOLCHAINS", "CHIP")


@pytest.fixture
def no_sdk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TILECORE_DATA_DIR", os.fspath(tmp_path / "data"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = release(tmp_path_factory.mktemp("sdk"), "bm1690", libraries=True)
    found = Sdk(root, "test").cmodel(BM1690)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def kernels(files):
    return kernel_library("model", for_cmodel(KERNELS, BM1690, "model", files=files), KERNELS)


@pytest.fixture
def device(files):
    yield CModelDevice(BM1690, files)
    pool.close_all()
