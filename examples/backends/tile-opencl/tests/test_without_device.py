"""Where there is no device: what is said of it, and how far kernels come."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from opencl_kernels import matmul
from tile_opencl import devices, target, toolchain
from tile_opencl.adapter import OpenCLAdapter

import tilecore
import tilecore.language as T
from tilecore.dtypes import FACTS, NARROW_FLOATS
from tilecore.errors import LaunchError, UnsupportedError
from tilecore.plugins import manager
from tilecore.target import Target

WHY = "no platform, says the test"


def absent(place: str) -> None:
    raise devices.NoDevice(f"{WHY}; {devices.INSTALL}")


@pytest.fixture
def without(monkeypatch):
    monkeypatch.setattr(target, "device", absent)
    monkeypatch.setattr(toolchain, "working", absent)
    monkeypatch.setattr("tile_opencl.adapter.working", absent)
    manager.refresh()  # what targets are resolved to is remembered
    yield
    manager.refresh()


@pytest.mark.usefixtures("without")
def test_every_report_says_why_and_what_to_do():
    presence = OpenCLAdapter().available(Target.parse("opencl"))
    (tool,) = toolchain.find()
    for has_driver, words in (
        (target.detect().present, target.detect().detail),
        (presence.present, presence.detail),
        (tool.present, f"{tool.where} {tool.fix}"),
    ):
        assert not has_driver
        assert WHY in words
        assert "pip install pyopencl" in words


def test_a_driver_that_compiles_nothing_counts_as_none(monkeypatch):
    pyopencl = pytest.importorskip("pyopencl")

    def fails(*args):
        raise pyopencl.RuntimeError("unknown target CPU 'generic'")

    devices.working.cache_clear()
    monkeypatch.setattr(devices, "device", lambda place: None)
    monkeypatch.setattr(devices, "words", lambda device: "an old driver")
    monkeypatch.setattr(devices, "queue", fails)
    with pytest.raises(devices.NoDevice, match=r"an old driver cannot compile a kernel .*'generic'"):
        devices.working("0:0")
    devices.working.cache_clear()


@pytest.mark.usefixtures("without")
def test_kernels_are_emitted_but_do_not_run():
    source = tilecore.lower(matmul(64, 64, 64), target="opencl").kernel_source
    assert "kernel __attribute__((reqd_work_group_size(64, 1, 1))) void product_kernel(global const float*" in source
    assert "local tc_any_float* a = (local tc_any_float*)(shared + 0);" in source
    compiled = tilecore.compile(matmul(64, 64, 64), target="opencl")
    arrays = [np.zeros((64, 64), "float32") for _ in range(3)]
    with pytest.raises(LaunchError, match="cannot run with execution_backend='opencl' here") as caught:
        compiled(*arrays)
    assert WHY in str(caught.value.found)


@pytest.mark.usefixtures("without")
def test_what_no_device_must_have_is_refused():
    @T.prim_func
    def double(X: T.Tensor((4,), "float64")):
        with T.Kernel(1, threads=4):
            for i in T.Parallel(4):
                X[i] = X[i] + 1.0

    with pytest.raises(UnsupportedError, match="X has elements of float64, which target opencl does not have"):
        tilecore.lower(double, target="opencl")
    assert "double" in tilecore.lower(double, target="opencl -extensions=cl_khr_fp64").kernel_source
    small = manager.resolve("opencl")[0].target.capabilities(target.resolve(Target.parse("opencl -device=0:0")))
    assert (small.max_threads, small.shared_bytes, "float64" in small.dtypes) == (128, 32768, False)


def test_a_place_where_nothing_is():
    pytest.importorskip("pyopencl")
    with pytest.raises(devices.NoDevice, match=r"no OpenCL (device 99:0|platform)"):
        devices.device("99:0")


def test_warps_are_refused_with_what_to_do():
    @T.prim_func
    def func(X: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            X[tx] = T.shfl_xor(X[tx], 1)

    with pytest.raises(UnsupportedError, match=r"T\.shfl_xor on a target whose warps have 1 threads") as caught:
        tilecore.lower(func, target="opencl")
    assert "shared memory" in str(caught.value.hint)


def test_the_target_has_the_narrow_floats_that_the_header_defines():
    text = (Path(target.__file__).parent / "include" / "tilecore_opencl" / "floats.h").read_text()
    defined = {name for name in NARROW_FLOATS if re.search(rf"\b{FACTS[name].c}\b", text)}
    assert defined == {*NARROW_FLOATS} & {*target.DTYPES}
