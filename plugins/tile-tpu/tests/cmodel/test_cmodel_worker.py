"""The process that runs the CModel, with a fake runtime: results, crashes, hangs."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from cmodel_calls import run, run_scale, workers
from fake_vendor import KERNELS, scale
from tile_tpu.chips import BM1690
from tile_tpu.cmodel import process
from tile_tpu.cmodel.kernel_files import kernel_library
from tile_tpu.toolchain.compile import for_cmodel

from tilecore.errors import LaunchError, UnsupportedError

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


@pytest.mark.parametrize("items", [1, 3, 8])
@pytest.mark.parametrize("n", [1, 1000, 100_000])
def test_results(device, kernels, n, items):
    run_scale(device, kernels, n, items=items)


def test_more_cores_than_it_launches_on(device, kernels):
    with pytest.raises(UnsupportedError, match="launched on 9 cores, and the CModel of bm1690 launches on 8") as caught:
        run(device, kernels, "print_kernel", items=9)
    assert "-cores=1" in (caught.value.hint or "")


def test_only_the_output_of_kernels_is_shown(device, kernels, capsys):
    run_scale(device, kernels)
    assert capsys.readouterr().out == ""
    run(device, kernels, "print_kernel", items=2)
    assert capsys.readouterr() == ("a line of kernel 0\na line of kernel 1\n", "")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("crash_kernel", ["ended by SIGSEGV", "before the crash", "*(volatile int*)0 =", "from model.py:21"]),
        ("divide_kernel", ["ended by SIGFPE", "return 100 / n;", "from model.py:29"]),
        ("abort_kernel", ["ended by SIGABRT", "it gives up"]),
        ("exit_kernel", ["ended the process with code 233"]),
    ],
)
def test_crashes(device, kernels, entry, words):
    run_scale(device, kernels)
    (before,) = workers()
    with pytest.raises(LaunchError) as caught:
        run(device, kernels, entry, items=2)
    report = str(caught.value)
    assert "model stopped the CModel of bm1690" in report
    assert f"launched {entry} on 2 cores" in report
    for word in words:
        assert word in report
    assert "[ap]" not in report
    run_scale(device, kernels)  # by a fresh process
    assert workers() != [before]


def test_a_kernel_that_does_not_return_0(device, kernels):
    run(device, kernels, "returns_kernel", 0)
    with pytest.raises(LaunchError, match="it returned 7, not 0"):
        run(device, kernels, "returns_kernel", 7)
    run_scale(device, kernels)


def test_a_kernel_that_is_not_there(device, kernels):
    with pytest.raises(LaunchError, match="model does not register the kernel none_kernel"):
        run(device, kernels, "none_kernel")


def test_hangs_are_stopped(monkeypatch, device, kernels):
    run_scale(device, kernels)
    (before,) = workers()
    monkeypatch.setenv("TILECORE_SIMULATE_TIMEOUT", "1")
    start = time.monotonic()
    with pytest.raises(LaunchError, match="took more than 1 s to run and was stopped") as caught:
        run(device, kernels, "hang_kernel")
    assert "TILECORE_SIMULATE_TIMEOUT" in (caught.value.hint or "")
    assert time.monotonic() - start < 30
    assert not Path(f"/proc/{before}").exists()
    run_scale(device, kernels)


def test_floods_are_stopped(monkeypatch, device, kernels):
    monkeypatch.setattr(process, "MOST_OUTPUT", 1 << 20)
    with pytest.raises(LaunchError, match="printed more than 1 MiB"):
        run(device, kernels, "flood_kernel")


@pytest.mark.parametrize(("n", "where"), [(1001, "0 bytes behind the end of out"), (1010, "40 bytes")])
def test_writes_behind_a_tensor(device, kernels, n, where):
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    with pytest.raises(LaunchError, match="wrote outside of its tensors") as caught:
        device.run(kernels, *scale(x, out, 1.0, n=n))
    assert where in str(caught.value)
    assert not out.any()
    run_scale(device, kernels)


def test_a_library_that_cannot_be_loaded(device):
    broken = kernel_library("broken", b"tpu_kernel_register_scale_kernel\0")
    with pytest.raises(LaunchError, match="cannot load the kernels"):
        run_scale(device, broken)


def test_kernels_of_one_name_in_two_libraries(device, kernels, files):
    other = KERNELS.replace("x[i] * args->scale", "x[i] + args->scale")
    more = kernel_library("other", for_cmodel(other, BM1690, "other", files=files))
    x, out = np.arange(9, dtype=np.float32), np.zeros(9, np.float32)
    for library, expected in ((kernels, x * 3), (more, x + 3), (kernels, x * 3)):
        device.run(library, *scale(x, out, 3.0))
        assert np.array_equal(out, expected)
