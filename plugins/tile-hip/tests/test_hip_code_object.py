"""Figures of code objects beside what clang reports of the same compilation, and what explain() makes of them."""

from __future__ import annotations

import math
import re
import struct
import subprocess
from types import SimpleNamespace

import pytest
from tile_hip import compilers, toolchain
from tile_hip.figures import code_object, msgpack, remarks
from tile_hip.figures.occupancy import budget, occupancy, registers_for, waves_by_registers

import tilecore
import tilecore.language as T
from tilecore.artifact.records import Entry
from tilecore.contract.records import BuildRequest
from tilecore.errors import LimitError
from tilecore.plugins import manager

# kernels with about REGISTERS registers, in blocks of THREADS, with LDS words of shared memory
KERNEL = """
extern "C" __global__ void __launch_bounds__({threads}) k{registers}_{threads}_{lds}(float* A, int n) {{
  __shared__ float s[{lds}];
  float r[{registers}];
  _Pragma("unroll") for (int i = 0; i < {registers}; ++i) r[i] = A[i * 1024 + threadIdx.x];
  s[threadIdx.x] = A[n];
  __builtin_amdgcn_s_barrier();
  for (int k = 0; k < n; ++k)
    _Pragma("unroll") for (int i = 0; i < {registers}; ++i) r[i] = r[i] * r[(i + 7) % {registers}] + s[k];
  _Pragma("unroll") for (int i = 0; i < {registers}; ++i) A[i * 1024 + threadIdx.x] = r[i];
}}
"""
SHAPES = [(8, 64, 64), (40, 256, 8200), (75, 96, 3000), (100, 1024, 12000), (150, 128, 5000)]
SOURCE = '#include "tilecore_hip.h"\n' + "".join(
    KERNEL.format(registers=registers, threads=threads, lds=lds) for registers, threads, lds in SHAPES
)
NAMES = {"SGPRs": "sgprs", "AGPRs": "agprs", "SGPRs Spill": "spilled_sgprs", "VGPRs Spill": "spilled_vgprs"}
NAMES |= {"ScratchSize [bytes/lane]": "scratch_bytes", "LDS Size [bytes/block]": "lds_bytes"}


def request(source: str, arch: str, *symbols: str, wave: int = 0, flags: tuple[str, ...] = ()) -> BuildRequest:
    _, target = manager.resolve(f"hip -arch={arch} -wave={wave}")
    return BuildRequest("kernel", source, symbols, target, flags, adapter="hip")


def reported(arch: str, wave: int, folder) -> tuple[bytes, dict[str, dict[str, int]]]:
    """(the code object, by kernel what clang says in its remarks about resources)."""
    (folder / "kernel.hip").write_text(SOURCE)
    asked = request(SOURCE, arch, wave=wave, flags=("-O1", "-Rpass-analysis=kernel-resource-usage"))
    (command,) = toolchain.commands(compilers.compiler_for(arch), asked)
    text = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr
    kernels = {}
    for part in text.split("Function Name: ")[1:]:
        numbers = re.findall(r"remark:\s+([\w \[\]/]+): (\d+) \[-Rpass", part)
        kernels[part.split()[0]] = {name: int(number) for name, number in numbers}
    return (folder / "kernel.co").read_bytes(), kernels


@pytest.mark.parametrize(
    ("arch_name", "wave"), [("gfx90a", 64), ("gfx942", 64), ("gfx1100", 64), ("gfx1102", 32), ("gfx1201", 32)]
)
def test_figures_and_occupancy_are_those_that_clang_reports(arch_name, wave, tmp_path):
    if not any(arch_name in c.architectures() and not c.is_zig for c in compilers.installed()):
        pytest.skip(f"there is no clang for {arch_name}")
    binary, kernels = reported(arch_name, wave, tmp_path)
    loaded = code_object.read(binary)
    assert loaded.arch == arch_name
    assert len(loaded.kernels) == len(kernels) == len(SHAPES)
    for kernel in loaded.kernels:
        says = kernels[kernel.name]
        figures = {name: getattr(kernel, NAMES[name]) for name in NAMES}
        assert figures == {name: says.get(name, 0) for name in NAMES}
        assert kernel.wave == wave
        assert kernel.kernarg_bytes == 12
        assert kernel.max_threads == int(kernel.name.split("_")[1])
        assert says["VGPRs"] <= kernel.vgprs <= says["VGPRs"] + 3 + says.get("AGPRs", 0), (
            "with AGPRs, behind a multiple of 4"
        )
        fit = occupancy(loaded.arch, kernel, kernel.max_threads)
        # clang does not ask whether the registers suffice for whole blocks
        assert says["Occupancy [waves/SIMD]"] == min(fit.by_registers, math.ceil(fit.by_lds)), kernel
        assert fit.waves <= says["Occupancy [waves/SIMD]"]


@pytest.mark.parametrize("arch", sorted(code_object._MACHINES.values()))
def test_every_chip_is_known_by_its_flags(arch, tmp_path):
    """The number in the ELF header beside the name in the metadata, as clang writes both."""
    if not any(arch in compiler.architectures() for compiler in compilers.installed()):
        pytest.skip(f"there is no compiler for {arch}")
    source = '#include "tilecore_hip.h"\nextern "C" __global__ void k(float* A) { A[0] = 1.0f; }\n'
    binary, _ = toolchain.build(request(source, arch, "k"))
    assert code_object.read(binary).arch == arch
    assert f"amdgcn-amd-amdhsa--{arch}".encode() in binary


def test_registers_for_a_number_of_waves():
    for arch, wave in (("gfx942", 64), ("gfx1100", 32), ("gfx1100", 64), ("gfx1103", 32)):
        shares = budget(arch, wave)
        for waves in range(2, shares.waves + 1):
            most = registers_for(shares, waves)
            assert waves_by_registers(shares, most) >= waves > waves_by_registers(shares, most + 1)


@pytest.mark.parametrize("binary", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(58), b"no ELF file" * 20])
def test_what_is_no_code_object(binary):
    with pytest.raises(ValueError):
        code_object.read(binary)
    assert remarks.describe(binary) == {}


def test_a_code_object_that_is_cut_off(arch):
    source = '#include "tilecore_hip.h"\nextern "C" __global__ void k(float* A) { A[0] = 1.0f; }\n'
    binary, _ = toolchain.build(request(source, arch, "k"))
    for length in range(0, len(binary), 97):
        described = remarks.describe(binary[:length])
        assert described in ({}, remarks.describe(binary))


MESSAGES = {
    b"\x93\x01\xff\xd0\x80": [1, -1, -128],
    b"\x82\xa1a\xcd\x01\x00\xa1b\xc3": {"a": 256, "b": True},
    b"\xd9\x03abc": "abc",
    b"\xdc\x00\x02\xc0\xce\x00\x01\x00\x00": [None, 65536],
    b"\xde\x00\x01\xa1x\xcb" + struct.pack(">d", 1.5): {"x": 1.5},
    b"\xc4\x02\x00\xff": b"\x00\xff",
}


@pytest.mark.parametrize("data", MESSAGES)
def test_message_pack(data):
    """The encodings of the format's specification."""
    assert msgpack.decode(data) == MESSAGES[data]
    with pytest.raises(ValueError, match="ends after"):
        msgpack.decode(data[:-1])


@T.prim_func
def doubled(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32")):
    with T.Kernel(2, threads=128) as b:
        tx = T.get_thread_binding()
        s = T.alloc_shared((128,), "float32")
        s[tx] = X[b * 128 + tx] * 2
        T.sync_threads()
        Y[b * 128 + tx] = s[127 - tx]


def test_explain_shows_the_figures(arch):
    kernel = tilecore.compile(doubled, target=f"hip -arch={arch}", execution_backend="hip")
    (figures,) = remarks.describe(kernel.artifact.binary).values()
    text = str(kernel.explain())
    assert f"      {figures['vgprs']} vgprs, " in text
    assert "0 scratch bytes" in text
    shares = budget(arch, figures["lanes_per_wave"])
    assert f"  {kernel.artifact.entries[0].symbol}: {shares.waves} waves a SIMD, " in text
    assert f"blocks a {shares.unit} on {arch}, limited by waves of a SIMD" in text
    assert "slow" not in text


# 140 values of a thread; blocks of 1024 threads leave 128 registers for each on gfx942
SPILLING = """#include "tilecore_hip.h"
extern "C" __global__ void __launch_bounds__(1024) many(float* A, int n) {
  float r[140];
  _Pragma("unroll") for (int i = 0; i < 140; ++i) r[i] = A[i * 1024 + threadIdx.x];
  for (int k = 0; k < n; ++k) { _Pragma("unroll") for (int i = 0; i < 140; ++i) r[i] = r[i] * r[(i + 7) % 140]; }
  _Pragma("unroll") for (int i = 0; i < 140; ++i) A[i * 1024 + threadIdx.x] = r[i];
}
"""


def artifact_of(binary: bytes, *entries: Entry) -> SimpleNamespace:
    return SimpleNamespace(binary=binary, entries=entries)


def test_scratch_and_limits_are_told():
    arch = "gfx942"
    if not any(arch in compiler.architectures() for compiler in compilers.installed()):
        pytest.skip(f"there is no compiler for {arch}")
    binary, _ = toolchain.build(request(SPILLING, arch, "many", flags=("-O1",)))
    (figures,) = remarks.describe(binary).values()
    said, slow = remarks.remarks(artifact_of(binary, Entry("many", (1, 1, 1), (1024, 1, 1))))
    assert "limited by registers" in said
    assert f"slow: {figures['scratch_bytes']} bytes of a thread's data are in memory (scratch)" in slow
    assert f"the compiler spilled {figures['spilled_vgprs']} times" in slow
    too_much = artifact_of(binary, Entry("many", (1, 1, 1), (1024, 1, 1), shared_bytes=70000))
    assert "it needs 70000 bytes of LDS (0 static, 70000 of its launch), 4464 more" in remarks.remarks(too_much)[0]
    with pytest.raises(LimitError, match=rf"many cannot run on {arch}: it needs 70000 bytes of LDS"):
        remarks.check(too_much)
    wide = artifact_of(binary, Entry("many", (1, 1, 1), (1024, 2, 1)))
    with pytest.raises(LimitError, match="it has blocks of 2048 threads, but was compiled for at most 1024"):
        remarks.check(wide)
    remarks.check(artifact_of(binary, Entry("many", (1, 1, 1), (1024, 1, 1), shared_bytes=65536)))


LARGE = """#include "tilecore_hip.h"
extern "C" __global__ void __launch_bounds__(128) big(float* A, int n) {{
  {declaration}
  for (int i = 0; i < n; ++i) s[int(A[i])] = A[threadIdx.x];
  A[threadIdx.x] = s[int(A[0])];
}}
"""


@pytest.mark.parametrize(
    ("declaration", "message", "expected"),
    [
        ("__shared__ float s[20000];", "big needs 80000 bytes of LDS, 14464 more than a block of {} may have", "65536"),
        (
            "float s[600000];",
            r"a thread of big needs 24000\d\d bytes of memory for its arrays",
            "bytes for a thread",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(declaration, message, expected, arch):
    with pytest.raises(LimitError, match=message.format(arch)) as error:
        toolchain.build(request(LARGE.format(declaration=declaration), arch, "big"))
    assert error.value.found == f"line 3: {declaration}"
    assert expected in error.value.expected
