"""A card through tpuRt. The code is the same as on the CModel; here it runs on a fake runtime in this process."""

from __future__ import annotations

import ctypes
import os
import shutil

import numpy as np
import pytest
from fake_vendor import KERNELS, release, runtime_library, scale
from tile_tpu.adapter import TpuRtAdapter
from tile_tpu.card import board
from tile_tpu.card.execute import execute
from tile_tpu.chips import BM1690
from tile_tpu.cmodel.kernel_files import kernel_library
from tile_tpu.runtimes.records import RuntimeFailure
from tile_tpu.runtimes.tpurt import TpuRt, open_library
from tile_tpu.target import SPEC
from tile_tpu.toolchain.compile import for_cmodel
from tile_tpu.toolchain.sdk import Sdk

from tilecore.artifact.records import Artifact, Entry, ScalarParam, TensorParam
from tilecore.errors import LaunchError
from tilecore.target import Target

pytestmark = [
    pytest.mark.usefixtures("no_sdk"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc"),
]
TARGET = Target("tpu", {"chip": "bm1690", "cores": 8})


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    root = release(tmp_path_factory.mktemp("sdk"), "bm1690", libraries=True)
    return for_cmodel(KERNELS, BM1690, "model", files=Sdk(root, "test").cmodel(BM1690))


@pytest.fixture
def card(monkeypatch, tmp_path):
    """A machine with a card, whose runtime is a fake."""
    (tmp_path / "lib").mkdir()
    shutil.copyfile(runtime_library(), tmp_path / "lib" / board.NAME)
    # the kernels name it by the soname that they are linked with
    ctypes.CDLL(os.fspath(runtime_library()), mode=ctypes.RTLD_GLOBAL)
    monkeypatch.setattr(board, "USUAL", os.fspath(tmp_path / "lib"))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    board._path.cache_clear()
    board._runtimes.clear()
    yield tmp_path / "lib" / board.NAME
    board._path.cache_clear()
    board._runtimes.clear()


def artifact(binary, binary_format="firmware"):
    params = (
        TensorParam("X", "float32", (100,), access="r"), TensorParam("Y", "float32", (100,), access="w"),
        ScalarParam("n", "int32"), ScalarParam("s", "float32"),
    )  # fmt: skip
    fields = ["handle", "handle", "int32", "float32"]
    entry = Entry("scale_kernel", (4, 1, 1), attributes={"cores": 4, "fields": fields})
    return Artifact(
        "scale", str(TARGET), "tile-tpu", "tpurt", params, (), (), (entry,), (), KERNELS, "c", binary, binary_format
    )


def launched(loaded, x, y, n, factor):
    bits = int(np.float32(factor).view(np.int32))
    slots = (ctypes.c_int64 * 4)(x.ctypes.data, y.ctypes.data, n, bits)
    grids = (ctypes.c_int64 * 4)(4, 1, 1, 0)
    return loaded.launch(ctypes.addressof(slots), ctypes.addressof(grids), 0)


def test_no_card(monkeypatch, tmp_path):
    monkeypatch.setattr(board, "USUAL", os.fspath(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", os.fspath(tmp_path / "here"))
    board._path.cache_clear()
    presence = TpuRtAdapter().available(TARGET)
    assert not presence.present
    assert os.fspath(tmp_path / "here") in presence.detail


def test_the_target_says_so(monkeypatch, card):
    presence = SPEC.detect()
    assert (presence.present, presence.detail) == (True, "2 cards")
    card.unlink()
    board._path.cache_clear()
    presence = SPEC.detect()
    assert not presence.present
    assert f"no {board.NAME} that drives a card" in presence.detail
    assert "kernels run on tile-tpu's simulator" in presence.detail


def test_the_cmodel_s_library_is_not_taken_for_a_card_s(monkeypatch, tmp_path):
    place = tmp_path / board.NAME
    monkeypatch.setenv("LD_LIBRARY_PATH", os.fspath(tmp_path))
    place.write_bytes(b"\x7fELF ... libcdm_daemon_emulator.so ...")
    library, looked = board.board_library()
    assert library is None or library != place
    assert f"{place} drives the CModel" in looked
    place.write_bytes(b"\x7fELF ...")
    assert board.board_library()[0] == place


def test_cards_are_counted(card):
    assert TpuRtAdapter().available(TARGET).detail == "2 cards"
    other = TpuRtAdapter().available(TARGET.with_attributes(chip="bm1684x"))
    assert not other.present
    assert "bmlib" in other.detail


def test_a_kernel(card, binary):
    loaded = TpuRtAdapter().load(artifact(binary))
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    for factor in (2.0, -1.5):
        assert launched(loaded, x, y, 100, factor) == 0
        assert np.array_equal(y, x * np.float32(factor))
    assert launched(loaded, x, y, 10, 0.0) == 0
    assert np.array_equal(y[10:], x[10:] * np.float32(-1.5))  # what a kernel does not write stays


def test_a_kernel_that_is_not_there(card, binary):
    runtime = TpuRt(os.fspath(card))
    kernels = kernel_library("model", binary)
    x = np.zeros(4, np.float32)
    blocks, (launch,) = scale(x, x.copy(), 1.0)
    with pytest.raises(RuntimeFailure, match="tpuRtKernelLaunch of none failed with code 2: failure"):
        execute(runtime, os.fspath(kernels.path), blocks, [launch._replace(entry="none")])


def test_no_memory(card):
    with pytest.raises(RuntimeFailure, match="code 5: out of memory"):
        TpuRt(os.fspath(card)).allocate(1 << 40)


def test_no_such_device(card):
    with pytest.raises(RuntimeFailure, match="tpuRtSetDevice failed with code 3: timeout"):
        TpuRt(os.fspath(card), device=3)


def test_libraries_that_are_none(tmp_path):
    (tmp_path / "text.so").write_text("text")
    with pytest.raises(RuntimeFailure, match="cannot be used"):
        open_library(os.fspath(tmp_path / "text.so"))
    with pytest.raises(RuntimeFailure, match="cannot be used"):
        open_library("libm.so.6")


def test_a_runtime_that_does_not_start(monkeypatch, card, binary):
    monkeypatch.setenv("FAKE_NO_START", "1")
    assert "not initialised" in TpuRtAdapter().available(TARGET).detail
    with pytest.raises(LaunchError, match="cannot be loaded"):
        TpuRtAdapter().load(artifact(binary))
