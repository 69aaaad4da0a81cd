"""Compiling emitted C to libraries: the options of the compilers, and the errors when they fail."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from fake_vendor import KERNELS, release
from tile_tpu.chips import BM1684X, BM1690
from tile_tpu.toolchain import compile as build
from tile_tpu.toolchain import compilers

from tilecore.codegen.places import user_line
from tilecore.errors import ToolchainError, UnsupportedError

pytestmark = [
    pytest.mark.usefixtures("no_sdk"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc"),
]

SOURCE = """#include "tpu_kernel.h"

int k_kernel(const void* arguments) {
  tpu_initialize();  // model.py:7
  STATEMENT
  tpu_poll();
  return arguments == 0;
}
TPUKERNEL_FUNC_REGISTER(k_kernel)
"""


def source(statement=";"):
    return SOURCE.replace("STATEMENT", statement)


@pytest.fixture
def sdk(monkeypatch, tmp_path):
    """A release without the files that code for a card is built with."""
    root = release(tmp_path / "sdk", "bm1690", "bm1684x", libraries=True)
    monkeypatch.setenv("PPL_PROJECT_ROOT", os.fspath(root))
    return root


def cross_compiler(folder, name):
    """This machine's compiler under another name."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('#!/bin/sh\nexec gcc "$@"\n')
    path.chmod(0o755)
    return path


def archive(root, chip):
    """libfirmware_core.a with the functions that the kernels call."""
    path = root / "deps" / "chip" / chip.arch / "lib" / "libfirmware_core.a"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "void tpu_initialize(){} void tpu_poll(){} void tpu_register_kernel_func(const char*n,void*f,int t){}"
    (root / "core.c").write_text(text)
    subprocess.run(["gcc", "-fPIC", "-c", "-w", "core.c", "-o", "core.o"], cwd=root, check=True)
    subprocess.run(["ar", "rc", os.fspath(path), "core.o"], cwd=root, check=True)


def test_for_the_cmodel(sdk):
    binary = build.for_cmodel(source(), BM1690, "k", ["k_kernel"])
    assert binary[:4] == b"\x7fELF"
    assert b"tpu_kernel_register_k_kernel\0" in binary
    assert b"libtpuv7_emulator.so\0" in binary
    assert os.fspath(sdk).encode() not in binary  # the same wherever the SDK lies
    assert build.for_cmodel(source(), BM1690, "k", ["k_kernel"]) == binary


def test_the_chip_s_macros_and_the_user_s_flags(sdk):
    test = '_Static_assert(USER == 3, ""); int a[sizeof(a_type)] = {0}; (void)a;'
    text = "#if defined __sg2260__ && defined __tpub_7_1__ && defined USING_CMODEL\ntypedef int a_type;\n#endif\n"
    build.for_cmodel(text + source(test), BM1690, "k", flags=["-DUSER=3"])


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("int x = oops;", "'oops' undeclared"),
        ("tpu_bdc_no_such();", "implicit declaration of function 'tpu_bdc_no_such'"),
        ("int* p = 3.5;", "incompatible types"),
    ],
)
def test_refused_source(sdk, statement, words):
    with pytest.raises(ToolchainError) as caught:
        build.for_cmodel(source(statement), BM1690, "k")
    assert "cannot compile the code of k" in caught.value.message
    assert words in caught.value.message
    assert caught.value.found == f"line 5: {statement} (from model.py:7)"


def test_a_function_that_the_library_has_not(sdk):
    text = "int tpu_bdc_new(int);\n" + source("return tpu_bdc_new(3);")
    with pytest.raises(ToolchainError, match="calls functions that the chip's library lacks: tpu_bdc_new") as caught:
        build.for_cmodel(text, BM1690, "k")
    assert "line 1: int tpu_bdc_new(int);" in (caught.value.found or "")


def test_wrong_flags(sdk):
    with pytest.raises(ToolchainError, match="no-such-flag"):
        build.for_cmodel(source(), BM1690, "k", flags=["--no-such-flag"])


def test_names_that_the_runtime_would_cut(sdk):
    build.check_names(["x" * 62])
    with pytest.raises(UnsupportedError, match="too long") as caught:
        build.for_cmodel(source(), BM1690, "k", ["x" * 63])
    assert caught.value.found == "63 characters"


def test_no_compiler(monkeypatch, sdk):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ToolchainError, match="needs a C compiler") as caught:
        build.for_cmodel(source(), BM1690, "k")
    assert "install gcc" in caught.value.hint


def test_own_compiler(monkeypatch, tmp_path):
    path = cross_compiler(tmp_path, "my-cc")
    monkeypatch.setenv("CC", f"{path} -m64")
    assert compilers.host_compiler().command == (os.fspath(path), "-m64")


@pytest.mark.parametrize("where", ["CROSS_TOOLCHAINS", "its release", "PATH", "SDK"])
def test_for_a_card(monkeypatch, sdk, tmp_path, where):
    archive(sdk, BM1690)
    name, release_name = "riscv64-unknown-linux-gnu-gcc", "Xuantie-900-gcc-linux-5.10.4-glibc-x86_64-V2.6.1"
    folder = tmp_path / "cross"
    if where == "SDK":
        folder = sdk / "third_party" / "toolchains_dir"
    cross_compiler(folder / release_name / "bin" if where in ("its release", "SDK") else folder / "bin", name)
    if where == "PATH":
        monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    elif where != "SDK":
        monkeypatch.setenv("CROSS_TOOLCHAINS", os.fspath(folder))
    binary = build.for_card(source(), BM1690, "k", ["k_kernel"])
    assert binary[:4] == b"\x7fELF"
    assert b"tpu_register_kernel_func\0" in binary  # the whole archive is in it
    with pytest.raises(ToolchainError, match="cannot compile the code of k"):
        build.for_card(source("oops;"), BM1690, "k")


def test_the_error_names_the_missing_tools_for_a_card(monkeypatch, sdk, tmp_path):
    with pytest.raises(ToolchainError, match="no card SDK") as caught:
        build.for_card(source(), BM1684X, "k")
    assert "libfirmware_core.a" in str(caught.value)
    archive(sdk, BM1684X)
    with pytest.raises(ToolchainError, match="aarch64-none-linux-gnu-gcc, which compiles") as caught:
        build.for_card(source(), BM1684X, "k")
    assert "CROSS_TOOLCHAINS" in (caught.value.hint or "")


def test_a_compiler_for_the_same_processor_checks_the_source(monkeypatch, sdk, tmp_path):
    cross_compiler(tmp_path / "bin", "riscv64-linux-gnu-gcc")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert build.check_for_card(source(), BM1690, "k")
    assert not build.check_for_card(source(), BM1684X, "k")  # that one is an ARM
    with pytest.raises(ToolchainError, match="no card SDK") as caught:
        build.for_card(source(), BM1690, "k")
    assert "does compile for the chip's control core" in (caught.value.hint or "")
    with pytest.raises(ToolchainError, match="cannot compile the code of k"):
        build.for_card(source("oops;"), BM1690, "k")


def test_a_real_cross_compiler_takes_the_kernels(sdk):
    if compilers.checking_compiler(BM1690) is None:
        pytest.skip("no riscv64-linux-gnu-gcc")
    assert build.check_for_card(KERNELS, BM1690, "kernels")


def test_the_line_that_a_comment_names():
    lines = ["int f() {", "  g();  // a/b.py:12", "  h();", "}", "int k() {", "  m();"]
    assert [user_line(lines, n) for n in range(1, 7)] == ["", "a/b.py:12", "a/b.py:12", "", "", ""]
