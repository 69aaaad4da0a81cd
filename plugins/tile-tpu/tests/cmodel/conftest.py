"""``device`` is a CModelDevice on a fake runtime, ``kernels`` a library for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from fake_vendor import KERNELS, release
from tile_tpu.chips import BM1690
from tile_tpu.cmodel import pool
from tile_tpu.cmodel.device import CModelDevice
from tile_tpu.cmodel.kernel_files import kernel_library
from tile_tpu.toolchain.compile import for_cmodel
from tile_tpu.toolchain.sdk import Sdk

sys.path.insert(0, os.fspath(Path(__file__).parent))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = release(tmp_path_factory.mktemp("sdk"), "bm1690", libraries=True)
    cmodel = Sdk(root, "test").cmodel(BM1690)
    assert cmodel is not None
    return cmodel


@pytest.fixture(scope="module")
def kernels(files):
    return kernel_library("model", for_cmodel(KERNELS, BM1690, "model", files=files), KERNELS)


@pytest.fixture
def device(files):
    pool.close_all()  # what other tests left
    yield CModelDevice(BM1690, files)
    pool.close_all()
