"""The toolchain: the choice of the compiler, its options, and the errors where it rejects the source or is missing."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import types

import pytest
from tile_cuda import nvcc, nvrtc, search, toolchain
from tile_cuda.nvrtc_options import nvrtc_options

import tilecore
from tilecore.contract.records import BuildRequest
from tilecore.errors import TargetError, ToolchainError
from tilecore.target import Target

GOOD = (
    '#include "tilecore_cuda.h"\n\nextern "C" __global__ void k(float* X) {\n  X[threadIdx.x] = 1.0f;  // k.py:4\n}\n'
)
BAD = GOOD.replace("= 1.0f;", "= oops;").replace("}\n", "  X[0] = 2.0f;\n}\n")


def request(source=GOOD, adapter="nvcc", flags=(), **attributes):
    target = Target("cuda", {"arch": "sm_90a", "max_registers": 0, **attributes})
    return BuildRequest("k", source, ("k",), target, tuple(flags), False, adapter)


class Tool:
    """A fake compiler that records its arguments."""

    path, version = "/no/where", "1.2"

    def __init__(self, supported=(80, 90), answer=(b"cubin", "")):
        self.supported, self.answer, self.arguments = supported, answer, None

    def architectures(self):
        return frozenset(self.supported)

    def compile(self, *args):
        self.arguments = args
        return self.answer


def installed(monkeypatch, rtc=None, cc=None):
    def missing(name):
        def load():
            raise ToolchainError(f"{name} was not found", hint=f"install {name}")

        return load

    if rtc is not None:
        rtc.__class__ = type("FakeRtc", (Tool, nvrtc.Nvrtc), {"__init__": Tool.__init__})
    monkeypatch.setattr(nvrtc, "load", (lambda: rtc) if rtc is not None else missing("NVRTC"))
    monkeypatch.setattr(nvcc, "load", (lambda: cc) if cc is not None else missing("nvcc"))


EXACT = ["--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"]


def test_nvrtc_is_preferred(monkeypatch):
    rtc, cc = Tool(), Tool()
    installed(monkeypatch, rtc, cc)
    assert toolchain.build(request(adapter="cython")) == (b"cubin", "cubin")
    assert rtc.arguments is not None
    assert cc.arguments is None
    _, headers, options = rtc.arguments
    assert options == ["--gpu-architecture=sm_90a", "--std=c++17", *EXACT]
    assert {"tilecore_cuda.h", "tilecore_c.h", "tilecore_cuda/matrix.h"} <= set(headers)


def test_nvcc_where_nvrtc_does_not_support_the_architecture(monkeypatch):
    rtc, cc = Tool(supported=(80,)), Tool()
    installed(monkeypatch, rtc, cc)
    toolchain.build(request(adapter="cython", flags=["-O3", "--use_fast_math"], max_registers=128))
    assert rtc.arguments is None
    options = cc.arguments[2]
    assert options == [
        "-gencode=arch=compute_90a,code=sm_90a",
        "-std=c++17",
        "-maxrregcount=128",
        "-O3",
        "--use_fast_math",
    ]


@pytest.mark.parametrize("on", [True, False])
def test_quick_functions(monkeypatch, on):
    rtc = Tool()
    installed(monkeypatch, rtc)
    build_request = request(adapter="nvrtc")
    key = str(tilecore.PassConfigKey.TL_ENABLE_FAST_MATH)
    toolchain.build(dataclasses.replace(build_request, config={key: on}))
    assert rtc.arguments[2][2:] == (["--use_fast_math", "--fmad=false"] if on else EXACT)


def test_how_many_registers_ptxas_may_use(monkeypatch):
    rtc = Tool()
    installed(monkeypatch, rtc)
    key = str(tilecore.PassConfigKey.TL_PTXAS_REGISTER_USAGE_LEVEL)
    toolchain.build(dataclasses.replace(request(adapter="nvrtc"), config={key: 10}))
    assert "--ptxas-options=--register-usage-level=10" in rtc.arguments[2]
    for wrong in (11, -1, "high"):
        with pytest.raises(TargetError, match="from 0 to 10"):
            toolchain.build(dataclasses.replace(request(adapter="nvrtc"), config={key: wrong}))


@pytest.mark.parametrize(
    ("flags", "rest"),
    [
        (["-fmad=true"], ["--ftz=false", "--prec-div=true", "--prec-sqrt=true"]),
        (["--ftz=true", "-prec-sqrt=false"], ["--fmad=false", "--prec-div=true"]),
        (["-use_fast_math"], []),
    ],
)
def test_flags_of_the_user_override(monkeypatch, flags, rest):
    rtc = Tool()
    installed(monkeypatch, rtc)
    toolchain.build(request(adapter="nvrtc", flags=flags))
    assert rtc.arguments[2][2:] == [*rest, *flags]


def test_flags_that_the_run_time_compiler_does_not_take(monkeypatch):
    rtc = Tool()
    installed(monkeypatch, rtc)
    toolchain.build(request(adapter="nvrtc", flags=["-O3", "-lineinfo"]))
    assert rtc.arguments[2][2:] == [*EXACT, "-lineinfo"]


FLAGS_OF_PROGRAMS = [
    "-O3", "-Wno-deprecated-declarations", "-UNO_HALF", "--expt-relaxed-constexpr", "--expt-extended-lambda",
    "--ptxas-options=-v,--register-usage-level=10", "-DNDEBUG", "-Xptxas", "--warn-on-spills", "-Xcompiler", "-Wall",
    "--threads=4", "--diag-suppress=177", "-lineinfo", "-use_fast_math",
]  # fmt: skip


def test_flags_for_nvcc_are_translated():
    assert nvrtc_options(FLAGS_OF_PROGRAMS) == [
        "-UNO_HALF", "-default-device", "--ptxas-options=-v", "--ptxas-options=--register-usage-level=10",
        "-DNDEBUG", "--ptxas-options=--warn-on-spills", "--diag-suppress=177", "-lineinfo", "-use_fast_math",
    ]  # fmt: skip
    assert nvrtc_options(["--no-such-flag"]) == ["--no-such-flag"]  # the compiler names it


HOST_TYPES = """
constexpr int twice(int x) { return 2 * x; }
extern "C" __global__ void k(uint* x, ushort* y, ulong* z, uint8_t* a, int64_t* b, uintptr_t* c) {
  static_assert(sizeof(uint) == 4 && sizeof(ushort) == 2 && sizeof(uint8_t) == 1 && sizeof(int64_t) == 8, "sizes");
  *x = twice(*y) + *z + *a + *b + *c;
}
"""


@pytest.mark.parametrize("module", [nvcc, nvrtc], ids=["nvcc", "nvrtc"])
def test_flags_and_types_of_programs(module):
    """Both compilers take the flags that programs write for nvcc, and the types that a host's headers define."""
    try:
        module.load()
    except ToolchainError as error:
        pytest.skip(error.message)
    adapter = module.__name__.rpartition(".")[2]
    binary, _ = toolchain.build(request(f'#include "tilecore_cuda.h"\n{HOST_TYPES}', adapter, FLAGS_OF_PROGRAMS))
    assert b"k\0" in binary


def test_no_compiler(monkeypatch):
    installed(monkeypatch)
    with pytest.raises(ToolchainError) as caught:
        toolchain.build(request(adapter="cython"))
    assert "NVRTC was not found; nvcc was not found" in str(caught.value)
    assert "install NVRTC" in str(caught.value)
    installed(monkeypatch, cc=Tool(supported=(80,)))
    with pytest.raises(ToolchainError, match="does not support sm_90a"):
        toolchain.build(request(adapter="nvcc"))


@pytest.mark.parametrize("module", [nvcc, nvrtc], ids=["nvcc", "nvrtc"])
def test_refused_source(module):
    try:
        module.load()
    except ToolchainError as error:
        pytest.skip(error.message)
    with pytest.raises(ToolchainError) as caught:
        toolchain.build(request(BAD, module.__name__.rpartition(".")[2]))
    words = str(caught.value)
    assert 'identifier "oops" is undefined' in words
    assert "line 4: X[threadIdx.x] = oops;" in words
    assert "from k.py:4" in words


@pytest.mark.parametrize("module", [nvcc, nvrtc], ids=["nvcc", "nvrtc"])
def test_a_cubin_is_made(module):
    try:
        module.load()
    except ToolchainError as error:
        pytest.skip(error.message)
    binary, kind = toolchain.build(request(GOOD, module.__name__.rpartition(".")[2]))
    assert kind == "cubin"
    assert binary[:4] == b"\x7fELF"
    assert b"k\0" in binary


def test_wrong_flags_are_named():
    try:
        nvcc.load()
    except ToolchainError as error:
        pytest.skip(error.message)
    with pytest.raises(ToolchainError, match="no-such-flag"):
        toolchain.build(request(flags=["--no-such-flag"]))


def test_every_tool_is_reported():
    tools = {f.name: f for f in toolchain.find()}
    assert set(tools) == {"NVRTC", "nvcc", "CuTe DSL", "CUDA driver"}
    assert all(f.present or f.fix for f in tools.values())
    assert tools["nvcc"].allows == "compile"


def test_versions_are_the_same_when_asked_again():
    target = Target("cuda", {"arch": "sm_80"})
    assert toolchain.version(target) == toolchain.version(target)
    assert "headers " in toolchain.version(target)


def test_homes_are_looked_at_first(monkeypatch, tmp_path):
    compiler = tmp_path / "bin" / "nvcc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", os.fspath(tmp_path))
    assert search.nvcc()[0] == compiler


@pytest.mark.parametrize("reason", ["no bindings", "no library"])
def test_no_run_time_compiler(monkeypatch, reason):
    """The bindings are missing, or they find no library: in both cases the error says what to install."""

    def version():
        raise RuntimeError('Failure finding "libnvrtc.so"\nlooked in many places')

    bindings = types.ModuleType("cuda.bindings")
    bindings.__path__ = []
    fake = types.SimpleNamespace(nvrtcVersion=version) if reason == "no library" else None
    if fake is not None:
        bindings.nvrtc = fake
    monkeypatch.setitem(sys.modules, "cuda", types.ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", fake)
    nvrtc.load.cache_clear()
    try:
        with pytest.raises(ToolchainError, match="NVRTC") as caught:
            nvrtc.load()
    finally:
        nvrtc.load.cache_clear()
    assert "pip install 'tile-cuda[nvrtc]'" in str(caught.value)
    assert reason == "no bindings" or caught.value.found == 'Failure finding "libnvrtc.so"'


_EMPTY_LOG = """
import ctypes
from tile_cuda import nvrtc

def into(memory, data):
    # as the bindings do it: the address of a bytes object's or a bytearray's own memory
    name = "PyByteArray_AsString" if isinstance(memory, bytearray) else "PyBytes_AsString"
    address = ctypes.pythonapi[name]
    address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object,)
    ctypes.memmove(address(memory), data, len(data))
    return (0,)

class Api:
    nvrtcCreateProgram = staticmethod(lambda *args: (0, "program"))
    nvrtcCompileProgram = staticmethod(lambda *args: (0,))
    nvrtcDestroyProgram = staticmethod(lambda program: (0,))
    nvrtcGetProgramLogSize = staticmethod(lambda program: (0, 1))
    nvrtcGetProgramLog = staticmethod(lambda program, memory: into(memory, b"\\0"))
    nvrtcGetCUBINSize = staticmethod(lambda program: (0, 4))
    nvrtcGetCUBIN = staticmethod(lambda program, memory: into(memory, b"\\1\\2\\0\\3"))

compiler = nvrtc.Nvrtc.__new__(nvrtc.Nvrtc)
compiler._api, compiler.version = Api, "0.0"
binary, log = compiler.compile("source", {}, [])
assert (binary, log) == (b"\\1\\2\\0\\3", ""), (binary, log)
assert bytes([32]) == b"\\x20" and b"a b".split(bytes([32])) == [b"a", b"b"], "the process's only b' ' was written over"
"""


def test_an_empty_log_is_written_into_memory_of_its_own():
    """CPython shares the objects of single bytes: writing to one changes it for the whole process."""
    subprocess.run([sys.executable, "-c", _EMPTY_LOG], check=True, timeout=60)
