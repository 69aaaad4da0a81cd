"""Kernels in the language on the vendor's CModels. Skipped without the wheel."""

from __future__ import annotations

import contextlib
from importlib.metadata import entry_points

import numpy as np
import pytest
from tile_tpu import plugin
from tile_tpu.adapter import CModelAdapter
from tile_tpu.chips import CHIPS
from tile_tpu.cmodel import pool

import tilecore
import tilecore.language as T
from tilecore.plugins import manager
from tilecore.target import Target


@T.prim_func
def scaled(X: T.Tensor((600,), "float32"), Y: T.Tensor((600,), "float32"), s: T.float32):
    with T.Kernel(4) as b:
        for i in T.Parallel(150):
            Y[b * 150 + i] = X[b * 150 + i] * s


@pytest.fixture
def installed():
    is_registered = any(entry.name == "tpu" for entry in entry_points(group="tilecore.backends"))
    with contextlib.nullcontext() if is_registered else manager.register(plugin, package="tile-tpu"):
        yield
    pool.close_all()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("chip", CHIPS)
def test_a_kernel(chip):
    presence = CModelAdapter().available(Target("tpu", {"chip": chip}))
    if not presence.present:
        pytest.skip(presence.detail)
    kernel = tilecore.compile(scaled, target=f"tpu -chip={chip}", execution_backend="cmodel")
    assert kernel.artifact.entries[0].attributes["cores"] == min(4, CHIPS[chip].launch_cores)
    x, y = np.arange(600, dtype=np.float32), np.zeros(600, np.float32)
    for factor in (3.0, -0.5):
        kernel(x, y, factor)
        assert np.array_equal(y, x * np.float32(factor))


@pytest.mark.usefixtures("no_sdk")
def test_without_an_sdk():
    presence = CModelAdapter().available(Target("tpu", {"chip": "bm1690"}))
    assert not presence.present
    assert "tilecore toolchain install tpu" in presence.detail
