"""The toolchain: kernels become code objects, and each thing that is missing or wrong has a clear error."""

from __future__ import annotations

import pytest
from tile_hip import compilers, search, toolchain

import tilecore
import tilecore.language as T
from tilecore.contract.records import BuildRequest
from tilecore.errors import LaunchError, LimitError, ToolchainError
from tilecore.plugins import manager


@T.prim_func
def shifted(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32")):
    with T.Kernel(2, threads=128) as b:
        tx = T.get_thread_binding()
        s = T.alloc_shared((128,), "float32")
        s[tx] = T.tanh(X[b * 128 + tx])
        T.sync_threads()
        Y[b * 128 + tx] = s[127 - tx] + T.warp_reduce_sum(X[b * 128 + tx])


def request(source: str, arch: str = "gfx942", **fields) -> BuildRequest:
    _, target = manager.resolve(f"hip -arch={arch}")
    return BuildRequest("kernel", source, ("kernel",), target, adapter="hip", **fields)


def test_a_kernel_becomes_a_code_object(arch):
    kernel = tilecore.compile(shifted, target=f"hip -arch={arch}", execution_backend="hip")
    assert kernel.artifact.binary.startswith(b"\x7fELF")
    assert kernel.artifact.binary_format == "hsaco"
    assert f"{kernel.artifact.entries[0].symbol}.kd".encode() in kernel.artifact.binary  # the descriptor of the kernel
    with pytest.raises(LaunchError, match="cannot run with execution_backend='hip' here"):
        kernel(None, None)


@pytest.mark.parametrize(
    ("arch_name", "number"),
    [("gfx90a", 9010), ("gfx942", 9402), ("gfx950", 9500), ("gfx1100", 11000), ("gfx1201", 12001)],
)
def test_numbers_of_the_math_library(arch_name, number):
    assert toolchain.isa_version(arch_name) == number


def test_wrong_source_is_quoted(arch):
    source = '#include "tilecore_hip.h"\n\nextern "C" __global__ void kernel(float* A) {\n  A[1] = 1;  // mine.py:7\n'
    source += "  A[0] = nothing;\n}\n"
    with pytest.raises(
        ToolchainError, match="cannot compile the code of kernel: use of undeclared identifier"
    ) as error:
        toolchain.build(request(source, arch))
    assert error.value.found == "line 5: A[0] = nothing; (from mine.py:7)"


def test_too_few_registers():
    compiler = compilers.Compiler(("clang-19",), "19.1.7")
    output = "error: <unknown>:0:0: ran out of registers during register allocation in function 'kernel'"
    error = toolchain._refused(request(""), compiler, output)
    assert isinstance(error, LimitError)
    assert error.found == output
    assert "smaller tiles" in (error.hint or "")


def test_no_compiler(monkeypatch):
    monkeypatch.delenv(search.CLANG, raising=False)
    monkeypatch.setattr(search, "candidates", lambda: iter(()))
    with pytest.raises(ToolchainError, match="there is no compiler for gfx942") as error:
        toolchain.build(request("", "gfx942"))
    assert "tilecore toolchain install hip" in str(error.value)
    assert not next(iter(toolchain.find())).present


def test_a_compiler_that_does_not_know_the_chip(monkeypatch):
    old = compilers.Compiler(("clang-14",), "14.0.6")
    monkeypatch.setattr(compilers, "_examined", lambda: iter([old]))
    monkeypatch.setattr(compilers.Compiler, "architectures", lambda self: frozenset({"gfx90a"}))
    with pytest.raises(ToolchainError, match="there is no compiler for gfx942") as error:
        compilers.compiler_for("gfx942")
    assert error.value.found == "clang-14 14.0.6 does not know gfx942"
    assert compilers.compiler_for("gfx90a") is old


def test_no_math_library(arch, monkeypatch):
    source = '#include "tilecore_hip.h"\nextern "C" __global__ void kernel(float* A) {\n  A[0] = tc_tanh(A[1]);\n}\n'
    assert toolchain.build(request(source, arch))[0]
    monkeypatch.setattr(compilers, "math_library", lambda: None)
    with pytest.raises(ToolchainError, match="needs __ocml_tanh_f32 of ROCm's math library") as error:
        toolchain.build(request(source, arch))
    assert "rocm-device-libs" in str(error.value)
    assert toolchain.build(request(source.replace("tc_tanh", "tc_exp"), arch))[0], "clang expands it without a library"


def test_flags_of_the_user_and_fast_mathematics():
    compiler = compilers.Compiler(("clang-19",), "19.1.7")
    (command,) = toolchain.commands(compiler, request("", flags=("-DX=1",), config={"tl.enable_fast_math": True}))
    assert command[0] == "clang-19"
    assert {"-DX=1", "-ffast-math", "--offload-arch=gfx942", "-ffp-contract=off"} <= set(command)
    (command,) = toolchain.commands(compiler, request(""))
    assert "-ffast-math" not in command
    assert "-mlink-builtin-bitcode" not in command, "nothing of the library is called"


def test_the_compiler_of_ziglang_links_in_a_step_of_its_own():
    compiler = compilers.Compiler(("/opt/zig", "clang"), "22.1.8")
    first, second = toolchain.commands(compiler, request("", "gfx950"))
    assert first[:2] == ["/opt/zig", "clang"]
    assert second[:2] == ["/opt/zig", "ld.lld"]
    assert "-plugin-opt=mcpu=gfx950" in second


def test_waves_of_64_lanes_on_chips_that_have_both():
    compiler = compilers.Compiler(("clang-19",), "19.1.7")
    _, target = manager.resolve("hip -arch=gfx1100 -wave=64")
    (command,) = toolchain.commands(compiler, BuildRequest("kernel", "", (), target, adapter="hip"))
    assert "-mwavefrontsize64" in command
