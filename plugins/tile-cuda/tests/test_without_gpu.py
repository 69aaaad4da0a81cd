"""A machine without a GPU: errors say what cannot run, and what can run instead."""

from __future__ import annotations

import importlib.util
import shutil
import warnings

import numpy as np
import pytest
from tile_cuda import nvcc, nvrtc
from tile_cuda.adapter import DriverAdapter

import tilecore
import tilecore.language as T
from tilecore.cli import main
from tilecore.contract.records import Presence
from tilecore.errors import LaunchError, ToolchainError, UnsupportedError
from tilecore.jit.export import read_kernel
from tilecore.plugins import manager
from tilecore.runtime import simulation
from tilecore.runtime.simulation import SimulationWarning

FOUND = "there is no driver, says the test"


@T.prim_func
def twice(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            Y[i] = 2 * X[i]


def returned(X):
    N = T.const("N")
    X: T.Tensor((N,), T.float32)
    Y = T.empty((N,), T.float32)
    with T.Kernel(1, threads=64):
        for i in T.Parallel(N):
            Y[i] = X[i]
    return Y


@pytest.fixture(autouse=True)
def without_gpu(installed):
    """The backend is loaded again, as it caches its adapters when it is loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TILECORE_SIMULATE", raising=False)
        patch.setattr(DriverAdapter, "available", lambda self, target: Presence(False, FOUND))
        manager.refresh()
        yield
    manager.refresh()


@pytest.mark.parametrize("name", ["cython", "nvrtc", "nvcc"])
def test_errors_without_a_gpu_name_the_alternatives(name):
    if name != "cython":
        try:
            (nvcc if name == "nvcc" else nvrtc).load()
        except ToolchainError as error:
            pytest.skip(error.message)
    kernel = tilecore.compile(twice, target="cuda -arch=sm_80", execution_backend=name)
    with pytest.raises(LaunchError, match=f"twice cannot run with execution_backend='{name}' here") as caught:
        kernel(np.zeros(64, np.float32), np.zeros(64, np.float32))
    assert caught.value.found == FOUND
    if importlib.util.find_spec("tilecore.simulate") is not None:
        assert caught.value.expected == "an execution backend that is available here: sim"
        assert 'execution_backend="sim"' in str(caught.value.hint)
        assert "TILECORE_SIMULATE=1" in str(caught.value.hint)


def a_compiler():
    """The name of an execution backend whose compiler is installed; skips where there is none."""
    for name, module in (("nvcc", nvcc), ("nvrtc", nvrtc)):
        try:
            module.load()
        except ToolchainError:
            continue
        return name
    pytest.skip("no compiler for the device is here")


def test_a_kernel_for_another_machine_is_compiled_and_exported(tmp_path):
    name = a_compiler()
    kernel = tilecore.compile(twice, target="cuda -arch=sm_90a", execution_backend=name)
    assert kernel.execution_backend == name
    assert kernel.artifact.binary[:4] == b"\x7fELF"
    assert "twice" in kernel.get_kernel_source()
    artifact = read_kernel(kernel.export(tmp_path / "twice.tck"))
    assert (artifact.adapter, artifact.binary_format) == (name, "cubin")
    with pytest.raises(LaunchError, match="twice cannot run with execution_backend") as caught:
        tilecore.load_kernel(tmp_path / "twice.tck")
    assert caught.value.found == FOUND
    assert caught.value.expected == "a machine that runs cuda -arch=sm_90a"
    assert "TILECORE_SIMULATE" not in str(caught.value), "it cannot be compiled again"


BUNDLED = """
import tilecore.language as T


@T.prim_func
def twice(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            Y[i] = 2 * X[i]
"""


def test_a_bundle_gives_the_kernels_of_a_device_that_is_not_here(tmp_path, monkeypatch):
    """A target that is named needs no device: the kernel can be inspected and exported, and a call says what lacks."""
    a_compiler()
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "bundled_twice.py").write_text(BUNDLED)
    file, path = str(tmp_path / "bundled_twice.py"), str(tmp_path / "twice.tcb")
    with pytest.raises(SystemExit) as ended:
        main(["compile", file, "--target", "cuda -arch=sm_80", "-o", path])
    assert ended.value.code == 0
    bundle = tilecore.load_bundle(path)
    kernel = bundle.find("twice", target="cuda -arch=sm_86")
    assert kernel is bundle.find("twice", target="cuda -arch=sm_80")
    assert "twice" in kernel.get_kernel_source()
    assert read_kernel(kernel.export(tmp_path / "twice.tck")).binary[:4] == b"\x7fELF"
    x = np.zeros(64, np.float32)
    for call in (lambda: kernel(x, x), lambda: kernel[(1,)](x, x), kernel.get_profiler):
        with pytest.raises(LaunchError, match="twice cannot run with execution_backend='cython' here") as caught:
            call()
        assert "TILECORE_SIMULATE" not in str(caught.value)


def test_a_simulated_kernel_is_compiled_for_the_device_for_a_library(tmp_path, monkeypatch):
    """Without a GPU the target's kernels are simulated; their library is the device's all the same."""
    pytest.importorskip("tilecore.simulate")
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("no C compiler")
    a_compiler()
    monkeypatch.setattr(simulation, "_warned", {"cuda"})
    kernel = tilecore.compile(twice, target="cuda -arch=sm_80")
    assert kernel.execution_backend == "sim"
    kernel.export_library(tmp_path / "twice.so", header=tmp_path / "twice.h")
    assert b"\x7fELF" in (tmp_path / "twice.so").read_bytes()[4:], "the cubin"
    assert "int twice(const float *X, float *Y, void *stream);" in (tmp_path / "twice.h").read_text()
    eager = tilecore.jit(returned, target="cuda -arch=sm_80").compile(N=64)
    assert eager.execution_backend == "sim"
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    eager.export_library(tmp_path / "returned.so")
    assert (tmp_path / "returned.so").exists()


def test_a_simulated_kernel_of_a_file_gives_no_library(tmp_path):
    pytest.importorskip("tilecore.simulate")
    kernel = tilecore.compile(twice, target="cuda -arch=sm_80", execution_backend="sim")
    kernel.export(tmp_path / "twice.tck", simulation=True)
    with pytest.warns(SimulationWarning):
        loaded = tilecore.load_kernel(tmp_path / "twice.tck")
    with pytest.raises(UnsupportedError, match="compiled for a simulated device and loaded from a file") as caught:
        loaded.export_library(tmp_path / "twice.so")
    assert 'execution_backend="cython"' in str(caught.value.hint)


def test_an_implicit_simulation_warns_once(monkeypatch):
    pytest.importorskip("tilecore.simulate")
    monkeypatch.setattr(simulation, "_warned", set())
    with pytest.warns(SimulationWarning, match=r"run on a simulated device.*TILECORE_SIMULATE=1") as caught:
        kernel = tilecore.compile(twice, target="cuda -arch=sm_90a")
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tilecore.compile(twice, target="cuda -arch=sm_80")
    assert kernel.execution_backend == "sim"
    assert 'execution_backend="cython" compiles for the device' in str(caught[0].message)
    assert "kernels for cuda -arch=sm_90a run on" in str(caught[0].message)  # without the attributes nobody wrote


@pytest.mark.parametrize("request_by", ["argument", "variable", "setting"])
def test_an_explicit_simulation_does_not_warn(request_by, monkeypatch):
    pytest.importorskip("tilecore.simulate")
    monkeypatch.setattr(simulation, "_warned", set())
    if request_by != "argument":
        variable = "TILECORE_SIMULATE" if request_by == "variable" else "TILECORE_EXECUTION_BACKEND"
        monkeypatch.setenv(variable, "1" if request_by == "variable" else "sim")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tilecore.compile(
            twice, target="cuda -arch=sm_90a", execution_backend="sim" if request_by == "argument" else None
        )


def test_a_simulation_is_no_deployment(tmp_path):
    pytest.importorskip("tilecore.simulate")
    kernel = tilecore.compile(twice, target="cuda -arch=sm_90a", execution_backend="sim")
    path = tmp_path / "twice.tck"
    with pytest.raises(UnsupportedError, match="compiled for a simulated device") as caught:
        kernel.export(path)
    assert not path.exists()
    assert 'execution_backend="cython"' in caught.value.hint
    kernel.export(path, simulation=True)
    assert read_kernel(path).binary_format == "simulation"
    with pytest.warns(SimulationWarning, match="exported as a simulation of cuda"):
        loaded = tilecore.load_kernel(path)
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    loaded(x, y)
    np.testing.assert_array_equal(y, 2 * x)


@pytest.mark.parametrize("request_by", ["argument", "variable"])
def test_what_the_error_advises_runs(request_by, monkeypatch):
    pytest.importorskip("tilecore.simulate")
    if request_by == "variable":
        monkeypatch.setenv("TILECORE_SIMULATE", "1")
    name = "sim" if request_by == "argument" else "nvcc"
    kernel = tilecore.compile(twice, target="cuda -arch=sm_80", execution_backend=name)
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernel(x, y)
    np.testing.assert_array_equal(y, 2 * x)
