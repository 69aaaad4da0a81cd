"""SDKs are found by the vendor's variables, in tilecore's folder and among installed packages, in this order."""

from __future__ import annotations

import os
import sys

import pytest
from fake_vendor import put, release, runtime_library
from tile_tpu.chips import BM1684X, BM1688, BM1690, CHIPS, SG2260E
from tile_tpu.toolchain import search
from tile_tpu.toolchain.wheel import FOLDER

from tilecore.errors import ToolchainError

pytestmark = pytest.mark.usefixtures("no_sdk")


def wheel_at(package, empty_libraries=True):
    """The unpacked package tpu_mlir, with files that only have the right names."""
    release(package / "cross_toolchains" / "ppl_compile")
    names = [chip.device_library for chip in CHIPS.values()]
    for name in [*names, "libtpuv7_rt.so", "libtpuv7_scalar_emulator.so", "libbmlib.so.0"]:
        (package / "lib").mkdir(exist_ok=True)
        (package / "lib" / name).write_text("")
    return package


def test_nothing_is_there():
    assert search.search().sdks == []
    with pytest.raises(ToolchainError) as caught:
        search.find_cmodel(BM1690)
    words = str(caught.value)
    assert "no CModel for bm1690" in words
    assert "tilecore toolchain install tpu" in words
    assert "tilecore's own copy" in words


def test_a_release(monkeypatch, tmp_path):
    root = release(tmp_path / "sdk", "bm1690", "bm1688", libraries=True)
    monkeypatch.setenv("PPL_PROJECT_ROOT", os.fspath(root))
    (sdk,) = search.search().sdks
    assert (sdk.origin, sdk.version, sdk.chips()) == ("PPL_PROJECT_ROOT", "9.9.1-gabc", ["bm1690", "bm1688"])
    files = search.find_cmodel(BM1690)
    assert files.include == root / "deps/chip/tpub_7_1/TPU1686/kernel/include"
    assert files.device == root / "deps/chip/tpub_7_1/lib/libtpuv7_emulator.so"
    assert files.runtime == root / "deps/runtime/tpuv7-runtime/lib/libtpuv7_rt.so"
    assert files.scalar is not None
    assert sdk.cmodel(SG2260E) is None
    assert sdk.cmodel(BM1688) is None  # its runtime is not there


def test_the_folder_deps_is_enough(monkeypatch, tmp_path):
    root = release(tmp_path / "sdk", "bm1690")
    monkeypatch.setenv("PPL_RUNTIME_PATH", os.fspath(root / "deps"))
    assert [sdk.root for sdk in search.search().sdks] == [root]


@pytest.mark.parametrize("origin", ["TPUC_ROOT", "own folder", "package"])
def test_the_wheel(monkeypatch, tmp_path, origin):
    if origin == "TPUC_ROOT":
        package = wheel_at(tmp_path / "tpu_mlir")
        monkeypatch.setenv("TPUC_ROOT", os.fspath(package))
    elif origin == "own folder":
        package = wheel_at(tmp_path / "data" / "tpu" / FOLDER / "tpu_mlir")
    else:
        package = wheel_at(tmp_path / "site" / "tpu_mlir")
        (package / "__init__.py").write_text("raise RuntimeError('it is not to be imported')")
        monkeypatch.syspath_prepend(os.fspath(tmp_path / "site"))
    for chip in CHIPS.values():
        files = search.find_cmodel(chip)
        assert files.device == package / "lib" / chip.device_library
        assert files.runtime.parent == package / "lib"
        assert (files.scalar is None) == (chip.runtime == "bmlib")
    assert "tpu_mlir" not in sys.modules


def test_a_user_s_own_sdk_comes_first_and_is_filled_up_by_the_next(monkeypatch, tmp_path):
    users_sdk = release(tmp_path / "sdk", "bm1690", libraries=True)
    package = wheel_at(tmp_path / "tpu_mlir")
    monkeypatch.setenv("PPL_PROJECT_ROOT", os.fspath(users_sdk))
    monkeypatch.setenv("TPUC_ROOT", os.fspath(package))
    assert [sdk.origin for sdk in search.search().sdks] == ["PPL_PROJECT_ROOT", "TPUC_ROOT"]
    assert search.find_cmodel(BM1690).device.is_relative_to(users_sdk)
    assert search.find_cmodel(BM1684X).device.is_relative_to(package)


def test_the_tree_with_a_script(monkeypatch, tmp_path):
    tree, sdk = tmp_path / "tree", release(tmp_path / "elsewhere", "bm1684x")
    script = tree / "3rdparty" / "sophgo_tpu" / "envsetup.sh"
    script.parent.mkdir(parents=True)
    script.write_text(f"echo noise; export PPL_PROJECT_ROOT='{sdk}' CROSS_TOOLCHAINS=/cross\n")
    monkeypatch.setenv("SOPHGO_TPU_ROOT", os.fspath(tree))
    sdk_search = search.search()
    assert [s.root for s in sdk_search.sdks] == [sdk]
    assert "envsetup.sh" in sdk_search.sdks[0].origin
    assert sdk_search.variables["CROSS_TOOLCHAINS"] == "/cross"
    assert "PPL_PROJECT_ROOT" not in os.environ
    script.write_text("echo it is broken; exit 3\n")
    sdk_search = search.search()
    assert sdk_search.sdks == []
    assert "it is broken" in (sdk_search.problems[0].found or "")


def test_the_old_layout(monkeypatch, tmp_path):
    include = tmp_path / "runtime" / "bm1690" / "TPU1686" / "kernel" / "include"
    include.mkdir(parents=True)
    (include / "tpu_kernel.h").write_text("")
    monkeypatch.setenv("SOPHGO_TPU_ROOT", os.fspath(tmp_path))
    (sdk,) = search.search().sdks
    assert sdk.chips() == ["bm1690"]
    assert sdk.include(BM1690) == include


def test_the_files_to_build_for_a_card(monkeypatch, tmp_path):
    root = release(tmp_path / "sdk", "bm1690")
    monkeypatch.setenv("PPL_PROJECT_ROOT", os.fspath(root))
    with pytest.raises(ToolchainError, match="card SDK") as caught:
        search.find_firmware(BM1690)
    assert "libfirmware_core.a" in str(caught.value)
    put(runtime_library(), root / "deps/chip/tpub_7_1/lib/libfirmware_core.a")
    assert search.find_firmware(BM1690).archive.name == "libfirmware_core.a"
