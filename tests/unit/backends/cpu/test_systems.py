"""The target cpu for other systems than this: targets, object code, the functions that it calls, who refuses it."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.backends.cpu import systems
from tilecore.backends.cpu.adapter import NativeAdapter
from tilecore.backends.cpu.elf_object import AARCH64, X86_64, read_object
from tilecore.backends.cpu.toolchain import llvm_target
from tilecore.contract.adapter import this_machine
from tilecore.errors import TargetError, TilecoreError
from tilecore.plugins import manager

OTHERS = {
    "cpu -system=windows -march=x86-64-v3": (X86_64, "win32-AMD64", "x86_64-pc-windows-msvc-elf"),
    "cpu -system=windows -march=x86-64": (X86_64, "win32-AMD64", "x86_64-pc-windows-msvc-elf"),
    "cpu -system=macos -march=armv8-a": (AARCH64, "darwin-arm64", "arm64-unknown-macosx11.0.0-elf"),
    "cpu -system=macos -march=x86-64-v2": (X86_64, "darwin-x86_64", "x86_64-unknown-macosx11.0.0-elf"),
    "cpu -system=linux -march=neoverse-n1": (AARCH64, "linux-aarch64", "aarch64-unknown-linux-gnu"),
}
# what kernels may call: exported by libSystem.B.dylib, and by ucrtbase.dll, vcruntime140.dll or ntdll.dll
MATHEMATICS = """
    exp exp2 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf pow atan2 fmod
    nearbyint nextafter fma floor ceil trunc fmin fmax
""".split()
COMMON = {
    *MATHEMATICS,
    *(name + "f" for name in MATHEMATICS),
    "hypot",
    "ldexp",
    "memcpy",
    "memset",
    "memmove",
    "fflush",
}
CALLED = {
    "macos": {
        *COMMON,
        "hypotf",
        "ldexpf",
        "printf",
        "bzero",
        "__sincos_stret",
        "__sincosf_stret",
        "__exp10",
        "__exp10f",
    },
    "windows": {*COMMON, "_hypotf", "__acrt_iob_func", "__stdio_common_vfprintf", "__chkstk"},
}
OUTSIDE = (systems.host_system(), systems.host_machine()) != ("linux", "x86_64")
pytestmark = pytest.mark.skipif(OUTSIDE, reason="compares with Linux on x86-64")


def many_functions(dtype):
    """All functions of the C library that kernels call, a print, an assertion, and a large frame on the stack."""
    unary = [T.exp, T.exp2, T.exp10, T.log, T.log2, T.log10, T.log1p, T.sin, T.cos, T.tan, T.asin, T.acos, T.atan]
    unary += [T.sinh, T.cosh, T.tanh, T.asinh, T.acosh, T.atanh, T.erf, T.floor, T.ceil, T.trunc, T.round, T.nearbyint]
    binary = [T.pow, T.atan2, T.fmod, T.hypot, T.nextafter]

    @T.prim_func
    def functions(X: T.Tensor((8,), dtype), Y: T.Tensor((len(unary) + len(binary) + 2, 8), dtype)):
        with T.Kernel(1, threads=1):
            large = T.alloc_local((4096,), dtype)
            for i in T.serial(4096):
                large[i] = X[i % 8]
            for i in T.serial(8):
                for number, function in enumerate(unary):
                    Y[number, i] = function(X[i])
                for number, function in enumerate(binary):
                    Y[len(unary) + number, i] = function(X[i], X[7 - i])
                Y[len(unary) + len(binary), i] = T.ldexp(X[i], 3)
                Y[len(unary) + len(binary) + 1, i] = large[i * 500 + 96 - 4 * i]
            T.print(X[1], msg="second")
            T.print(3)
            T.device_assert(X[0] > 0, "not positive")

    return functions


@pytest.mark.parametrize("text", OTHERS)
def test_the_object_is_for_the_system(text):
    number, python, triple = OTHERS[text]
    _, target = manager.resolve(text)
    assert systems.python_name(target) == python == NativeAdapter().machine(target)
    assert llvm_target(target)["mtriple"] == triple
    assert read_object(tilecore.compile(many_functions("float32"), target=text).artifact.binary).machine == number


def test_on_this_machine_llvm_chooses():
    for text in ("cpu", "cpu -march=generic", "cpu -march=x86-64-v3"):
        _, target = manager.resolve(text)
        assert systems.triple_of(target) is None
        assert systems.python_name(target) == this_machine()
        assert NativeAdapter().available(target).present


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", [text for text in OTHERS if "linux" not in text])
def test_every_function_that_is_called_is_one_of_the_system(text, dtype):
    elf = read_object(tilecore.compile(many_functions(dtype), target=text).artifact.binary)
    called = {elf.symbols[relocation.symbol].name for relocation in elf.relocations}
    defined = {symbol.name for symbol in elf.symbols if symbol.section}
    system = "windows" if "windows" in text else "macos"
    assert called - defined <= CALLED[system]
    assert {"atan2" + ("f" if dtype == "float32" else ""), "fflush"} <= called


@pytest.mark.parametrize("text", OTHERS)
def test_kernels_of_other_systems_are_compiled_and_refused(text, tmp_path):
    _, python, _ = OTHERS[text]
    kernel = tilecore.compile(many_functions("float32"), target=text)
    presence = NativeAdapter().available(manager.resolve(text)[1])
    assert presence.detail == f"its kernels run on {python}, and this is {this_machine()}"
    with pytest.raises(TilecoreError, match=python):
        kernel(np.ones(8, np.float32), np.ones((32, 8), np.float32))
    with pytest.raises(TilecoreError, match="linked by the compiler of this machine"):
        kernel.export_library(tmp_path / "k.so")
    kernel.export(tmp_path / "k.tck")
    with pytest.raises(TilecoreError, match=python):
        tilecore.load_kernel(tmp_path / "k.tck")(np.ones(8, np.float32), np.ones((32, 8), np.float32))


def test_a_kernel_for_another_system_fits_no_call_here():
    adapter, (_, here) = NativeAdapter(), manager.resolve("cpu")
    for text in OTHERS:
        assert adapter.fit(manager.resolve(text)[1], here) == 0
    assert adapter.fit(manager.resolve("cpu -march=x86-64")[1], here) > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpu -system=windows", "-march=native is this machine's processor"),
        ("cpu -system=windows -march=armv8-a", "no kernels for windows on aarch64"),
        ("cpu -march=armv8-a -features=avx2", "are those of x86-64"),
        ("cpu -system=beos", "cannot be 'beos'"),
    ],
)
def test_targets_that_cannot_be(text, message):
    with pytest.raises(TargetError, match=message):
        manager.resolve(text)


def test_other_names_of_this_machine(monkeypatch):
    monkeypatch.setattr(systems.sys, "platform", "freebsd14")
    assert systems.host_system() == "freebsd14"
    assert manager.resolve("cpu -march=x86-64")[1].get("system") == "linux"
    monkeypatch.setattr(systems.platform, "machine", lambda: "riscv64")
    assert systems.host_machine() == "riscv64"
    assert systems.triple_of({"march": "generic", "system": "linux"}) is None
