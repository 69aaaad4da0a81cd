"""Missing chips, tools and cards, and broken files: the error says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from error_kernels import halves
from fake_vendor import edited, header, release
from tile_tpu.target import resolve

import tilecore
from tilecore.compilation_cache.warning import CacheWarning
from tilecore.errors import TargetError, ToolchainError
from tilecore.jit.compile import _kernels
from tilecore.simulate import build
from tilecore.target import Target


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    """A kernel cache for this test. The simulator, which takes some seconds to build, stays in its cache."""
    libraries = build.library_folder()
    monkeypatch.setattr(build, "library_folder", lambda: libraries)
    monkeypatch.setenv("TILECORE_CACHE_DIR", os.fspath(tmp_path / "cache"))
    _kernels.clear()
    yield tmp_path / "cache"
    _kernels.clear()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("tpu -chip=bm9999", ["-chip=bm9999", "bm1690, sg2260e, bm1684x, bm1688"]),
        ("bm1684", ["no installed backend offers the target 'bm1684'", "did you mean 'bm1684x'"]),
        ("tpu -cores=9", ["bm1690 does not have 9 cores", "1 to 8; 0: all of them"]),
        ("tpu -chip=bm1688 -cores=3", ["bm1688 does not have 3 cores", "1 to 2"]),
        ("tpu -cores=-1", ["bm1690 does not have -1 cores"]),
        ("tpu -cores=many", ["'cores'", "must be an integer", "'many'"]),
        ("tpu -lanes=3", ["has no attribute 'lanes'", "-chip (chip to compile for"]),
    ],
)
def test_targets_that_are_not_there(target, words):
    with pytest.raises(TargetError) as caught:
        tilecore.compile(halves, target=target)
    for word in words:
        assert word in str(caught.value)


def test_a_chip_of_the_environment_that_is_not_there(monkeypatch):
    monkeypatch.setenv("CHIP", "bm9999")
    with pytest.raises(TargetError, match="CHIP names a chip that tile-tpu does not support") as caught:
        resolve(Target.parse("tpu"))
    assert caught.value.found == "CHIP=bm9999"
    assert "bm1690" in caught.value.expected
    assert resolve(Target.parse("tpu -chip=bm1688")).get("chip") == "bm1688"


def test_an_execution_backend_that_is_not_there():
    with pytest.raises(TargetError, match="no execution backend 'emulator'") as caught:
        tilecore.compile(halves, target="tpu", execution_backend="emulator")
    assert caught.value.expected == "auto, cython, dlpack, tvm_ffi, torch, torch_tpu, tpurt, cmodel, sim"


@pytest.mark.usefixtures("no_sdk", "own_cache")
def test_no_sdk():
    with pytest.raises(ToolchainError, match="there is no CModel for bm1690") as caught:
        tilecore.compile(halves, target="tpu", execution_backend="cmodel")
    assert "tilecore toolchain install tpu" in caught.value.hint
    assert "PPL_PROJECT_ROOT, SOPHGO_TPU_ROOT or TPUC_ROOT" in caught.value.expected


@pytest.mark.usefixtures("no_sdk", "own_cache")
@pytest.mark.parametrize("backend", ["tpurt", "torch_tpu"])
def test_no_sdk_for_a_card(backend):
    with pytest.raises(ToolchainError, match="there is no card SDK") as caught:
        tilecore.compile(halves, target="tpu", execution_backend=backend)
    assert "PPL_PROJECT_ROOT" in caught.value.hint
    assert 'execution_backend="sim"' in caught.value.hint


@pytest.mark.usefixtures("no_sdk", "own_cache")
def test_nothing_to_run_with(monkeypatch):
    """Without card, SDK and compiler, the error for ``auto`` names the one that is easiest to install."""
    monkeypatch.setenv("PATH", "/nonexistent")
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    if shutil.which("c++") or "ziglang" in sys.modules:
        pytest.skip("there is a compiler anyway")
    with pytest.raises(ToolchainError) as caught:
        tilecore.compile(halves, target="tpu")
    assert "needs a C++ compiler on this machine" in caught.value.hint
    assert "install g++" in caught.value.hint


@pytest.mark.usefixtures("no_sdk", "own_cache")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_an_sdk_whose_functions_are_others(monkeypatch, tmp_path):
    """Where only the order of parameters differs, code that calls them would compile, and compute something else."""
    drifted = header(edited(r"\(tpu_gdma_cpy_S2L, (\w+), (\w+)\)", r"(tpu_gdma_cpy_S2L, \2, \1)"))
    root = release(tmp_path / "sdk", "bm1690", libraries=True, header=drifted)
    monkeypatch.setenv("PPL_PROJECT_ROOT", os.fspath(root))
    with pytest.raises(ToolchainError) as caught:
        tilecore.compile(halves, target="tpu", execution_backend="cmodel")
    assert "tpu_gdma_cpy_S2L" in str(caught.value)
    assert "doctor" in caught.value.hint


def test_a_broken_cache_entry(own_cache):
    x, out = np.zeros(33, np.float16), np.zeros(33, np.float16)
    tilecore.compile(halves, target="tpu", execution_backend="sim")(x, out)
    entries = [path for path in (own_cache / "v1" / "entries").rglob("*") if path.is_file()]
    assert entries
    for path in entries:
        path.write_bytes(path.read_bytes()[:-20])
    _kernels.clear()
    with pytest.warns(CacheWarning):
        kernel = tilecore.compile(halves, target="tpu", execution_backend="sim")
    kernel(x, out)
    assert (out == 1).all()


@pytest.mark.parametrize("command", ["doctor", "targets"])
def test_the_command_line_without_anything(tmp_path, command):
    """A machine without card and SDK is not broken, and each missing tool has a hint how to get it."""
    variables = ("PPL_", "TPUC_", "SOPHGO", "CROSS_", "CHIP", "LD_LIBRARY")
    env = {name: value for name, value in os.environ.items() if not name.startswith(variables)}
    env |= {"TILECORE_DATA_DIR": os.fspath(tmp_path), "COLUMNS": "400"}
    ended = subprocess.run(
        [sys.executable, "-m", "tilecore", command], capture_output=True, text=True, env=env, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    line = next(line for line in ended.stdout.splitlines() if line.startswith(("tpu ", "target tpu ")))
    if command == "targets":
        assert "no card" in line
        return
    report = ended.stdout[ended.stdout.index(line) :]
    assert "kernels run on tile-tpu's simulator" in report
    missing = [line for line in report.splitlines() if line.startswith("  tool ") and ": missing" in line]
    assert len(missing) >= 5
    assert report.count("= help:") >= len(missing)
    assert "tilecore toolchain install tpu" in report
    assert "not from PyPI" in report
