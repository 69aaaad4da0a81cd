"""Functions of an SDK with other parameters are detected, one by one."""

from __future__ import annotations

import os
import shutil

import pytest
from fake_vendor import edited, header, release
from tile_tpu.chips import BM1690, CHIPS
from tile_tpu.toolchain import compile as build
from tile_tpu.toolchain import report, search
from tile_tpu.toolchain.signatures import Drift, drift

from tilecore.errors import ToolchainError

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")

SOURCE = '#include "tpu_kernel.h"\nint k_kernel(const void* a) {\n  tpu_bdc_%s;\n  return a == 0;\n}\n'


def include(tmp_path, edit=lambda text: text):
    root = release(tmp_path / "sdk", "bm1690", header=header(edit))
    return search.Sdk(root, "test").include(BM1690)


def test_the_same_functions(tmp_path):
    assert drift(include(tmp_path), BM1690) == Drift()
    assert Drift().description() == ""


def test_another_type(tmp_path):
    edit = edited(
        r"void tpu_bdc_set_C\(local_addr_t dst_addr, scalar_t C", "void tpu_bdc_set_C(local_addr_t dst_addr, int C"
    )
    differences = drift(include(tmp_path, edit), BM1690)
    assert differences == Drift(("tpu_bdc_set_C",))
    assert "tpu_bdc_set_C" in differences.description()


def test_two_parameters_of_one_type_that_changed_places(tmp_path):
    edit = edited(r"(void tpu_bdc_clamp\([^)]*?)min(_\w+, scalar_t )max", r"\1max\2min")
    assert drift(include(tmp_path, edit), BM1690) == Drift(("tpu_bdc_clamp",))


def test_one_more_parameter_and_one_function_less(tmp_path):
    more = edited(r"(void tpu_bdc_cast\([^)]*)\)", r"\1, int more)")
    less = edited(r"void tpu_bdc_npu_bcast\([^)]*\);", "")
    assert drift(include(tmp_path, lambda text: less(more(text))), BM1690) == Drift(
        ("tpu_bdc_cast",), ("tpu_bdc_npu_bcast",)
    )


def test_a_header_that_does_not_compile(tmp_path):
    differences = drift(include(tmp_path, lambda text: text + "\nthis is no C;\n"), BM1690)
    assert differences.error
    assert "does not compile" in differences.description()


def test_a_changed_header_is_checked_again(tmp_path):
    place = include(tmp_path)
    assert not drift(place, BM1690).changed
    include(tmp_path, edited(r"(void tpu_bdc_cast\([^)]*)\)", r"\1, int more)"))
    assert drift(place, BM1690).changed == ("tpu_bdc_cast",)


@pytest.mark.usefixtures("no_sdk")
def test_kernels_that_call_such_a_function_are_refused_and_others_not(monkeypatch, tmp_path):
    edit = edited(r"(void tpu_bdc_cast\([^)]*)\)", r"\1, int more)")
    root = release(tmp_path / "sdk", "bm1690", libraries=True, header=header(edit))
    monkeypatch.setenv("PPL_PROJECT_ROOT", os.fspath(root))
    with pytest.raises(ToolchainError, match=r"with other parameters in .*: tpu_bdc_cast"):
        build.for_cmodel(SOURCE % "cast(0, 0, 0, 0, 0, DT_FP16, DT_FP32, 0, 0)", BM1690, "k")
    with pytest.raises(ToolchainError, match="library lacks: tpu_bdc_cpy"):  # it came as far as the linker
        build.for_cmodel(SOURCE % "cpy(0, 0, 0, 0, 0, DT_FP16)", BM1690, "k")
    (tool,) = [f for f in report.find() if f.name == "interface for bm1690"]
    assert not tool.present
    assert "tpu_bdc_cast" in tool.where


def test_the_vendor_s_own(monkeypatch):
    sdks = search.search().sdks
    if not sdks:
        pytest.skip("no SDK: tilecore toolchain install tpu")
    for chip in CHIPS.values():
        if place := sdks[0].include(chip):
            differences = drift(place, chip)
            assert differences.description() == ""
            assert chip is not BM1690 or not differences.missing
