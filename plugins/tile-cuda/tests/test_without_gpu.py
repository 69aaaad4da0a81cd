"""On a machine without a GPU: what cannot run says so, and what can run instead."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from tile_cuda import nvcc, nvrtc
from tile_cuda.adapter import DriverAdapter

import tilecore
import tilecore.language as T
from tilecore.errors import LaunchError, ToolchainError
from tilecore.plugins import manager
from tilecore.plugins.backend import Presence

FOUND = "there is no driver, says the test"


@T.prim_func
def twice(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            Y[i] = 2 * X[i]


@pytest.fixture(autouse=True)
def without_gpu(installed):
    """The backend is loaded anew, as it keeps what its adapters were when it was loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TILECORE_SIMULATE", raising=False)
        patch.setattr(DriverAdapter, "available", lambda self, target: Presence(False, FOUND))
        manager.refresh()
        yield
    manager.refresh()


@pytest.mark.parametrize("name", ["cython", "nvrtc", "nvcc"])
def test_what_needs_a_gpu_names_what_does_not(name):
    if name != "cython":
        try:
            (nvcc if name == "nvcc" else nvrtc).load()
        except ToolchainError as error:
            pytest.skip(error.message)
    with pytest.raises(LaunchError, match=f"twice cannot run with execution_backend='{name}' here") as caught:
        tilecore.compile(twice, target="cuda -arch=sm_80", execution_backend=name)
    assert caught.value.found == FOUND
    if importlib.util.find_spec("tilecore.simulate") is not None:
        assert caught.value.expected == "one that can run here: sim"
        assert 'execution_backend="sim"' in str(caught.value.hint)
        assert "TILECORE_SIMULATE=1" in str(caught.value.hint)


@pytest.mark.parametrize("way", ["argument", "variable"])
def test_what_the_error_advises_runs(way, monkeypatch):
    pytest.importorskip("tilecore.simulate")
    if way == "variable":
        monkeypatch.setenv("TILECORE_SIMULATE", "1")
    name = "sim" if way == "argument" else "nvcc"
    kernel = tilecore.compile(twice, target="cuda -arch=sm_80", execution_backend=name)
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernel(x, y)
    np.testing.assert_array_equal(y, 2 * x)
