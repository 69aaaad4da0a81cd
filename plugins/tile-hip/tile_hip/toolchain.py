"""Compiles source to a code object, an ELF file for the GPU, by clang in a child process."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from tile_hip import compilers, resource_errors, simulated
from tile_hip.architectures import isa_version
from tile_hip.compilers import INCLUDE
from tile_hip.figures import code_object, remarks
from tile_hip.install import INSTALLABLE
from tile_hip.options import FAST_MATH, LINE_DIRECTIVES
from tile_hip.report import find
from tile_hip.target import architecture_of, wave_of
from tilecore import debug
from tilecore.codegen import places
from tilecore.contract.records import BuildRequest, Toolchain
from tilecore.errors import LimitError, TilecoreError, ToolchainError
from tilecore.target import Target

FORMAT = "hsaco"
ALL_REGISTERS = "-DTC_ALL_REGISTERS"  # include/tilecore_hip/keywords.h
_ERROR = re.compile(r"kernel\.hip:(\d+):\d+: (?:fatal )?error: (.*)")
_MISSING = re.compile(r"undefined (?:hidden )?symbol: (__ocml_\w+)")


def build(request: BuildRequest) -> tuple[bytes, str]:
    """Compiles a request to (code object, format). Raises ToolchainError with the compiler's message and the line."""
    if request.adapter == simulated.NAME:  # the simulator compiles the source for the host when it loads the artifact
        return b"", simulated.FORMAT
    compiler = compilers.compiler_for(architecture_of(request.target).name)
    with tempfile.TemporaryDirectory(prefix="tilecore-") as name:
        folder = Path(name)
        (folder / "kernel.hip").write_text(request.source)
        binary = _compiled(request, compiler, folder)
        if _spills(binary) and "__launch_bounds__" in request.source:  # half of the registers are not enough
            binary = _compiled(replace(request, flags=(*request.flags, ALL_REGISTERS)), compiler, folder)
        return binary, FORMAT


def _spills(binary: bytes) -> bool:
    """Whether a kernel has more values at a time than registers."""
    return any(kernel.spilled_vgprs for kernel in code_object.read(binary).kernels)


def _compiled(request: BuildRequest, compiler: compilers.Compiler, folder: Path) -> bytes:
    """The code object for ``kernel.hip`` in a folder."""
    output = ""
    for command in commands(compiler, request):
        debug.command(" ".join(command))
        process = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=folder)
        output += (process.stdout + process.stderr).replace(str(folder) + os.sep, "")
        if process.returncode:
            raise _refused(request, compiler, output)
    if request.verbose and output.strip():
        print(output.strip())
    return (folder / "kernel.co").read_bytes()


def commands(compiler: compilers.Compiler, request: BuildRequest) -> list[list[str]]:
    """The commands that compile ``kernel.hip`` to ``kernel.co`` in the current folder."""
    arch = architecture_of(request.target).name
    options = ["-x", "hip", f"--offload-arch={arch}", "--offload-device-only", "-nogpulib", "-nogpuinc", "-std=c++17"]
    options += ["-O3", "-fno-math-errno", "-mcode-object-version=5", f"-DTC_ISA_VERSION={isa_version(arch)}"]
    options += [f"-DTC_WAVE={wave_of(request.target)}", "-ffp-contract=off", *(f"-I{folder}" for folder in INCLUDE)]
    options.append("-munsafe-fp-atomics")  # floats in memory are added to by instructions (README, "Atomics")
    if _writes_messages(request.source):
        options.append("-DTC_MESSAGES")
    if FAST_MATH.value_in(request.config):
        options += ["-ffast-math", "-fhonor-nans", "-fhonor-infinities", "-fgpu-flush-denormals-to-zero"]
    if LINE_DIRECTIVES.value_in(request.config):
        options.append("-gline-tables-only")
    if wave_of(request.target) != architecture_of(request.target).waves[0]:
        options.append("-mwavefrontsize64")
    library = compilers.math_library()
    if library is not None and _calls_library(request.source):
        options += ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(library)]
    options += request.flags
    if not compiler.is_zig:
        return [[*compiler.command, *options, "--no-gpu-bundle-output", "kernel.hip", "-o", "kernel.co"]]
    zig = compiler.command[0]
    return [
        [*compiler.command, *options, "-fgpu-rdc", "-emit-llvm", "-c", "kernel.hip", "-o", "kernel.bc"],
        [
            zig,
            "ld.lld",
            "-shared",
            "--no-undefined",
            f"-plugin-opt=mcpu={arch}",
            "-plugin-opt=O3",
            "kernel.bc",
            "-o",
            "kernel.co",
        ],
    ]


def _writes_messages(source: str) -> bool:
    """Does the source print or assert? Then its code object has the variable of ``tilecore_hip/messages.h``."""
    return "tc_print(" in source or "tc_assert(" in source


def _calls_library(source: str) -> bool:
    """Does the source call a function that the header may take from the math library?"""
    return any(f"tc_{name}(" in source for name in _library_functions())


@functools.lru_cache(maxsize=1)
def _library_functions() -> tuple[str, ...]:
    """The names of these functions, which stand in rows of the header, and that of sigmoid, which calls exp."""
    header = (simulated.INCLUDE / "tilecore_hip" / "mathematics.h").read_text()
    return (*re.findall(r"^TC_(?:LIBRARY2?|EXPANDED)\((\w+),", header, re.MULTILINE), "sigmoid")


def _refused(request: BuildRequest, compiler: compilers.Compiler, output: str) -> TilecoreError:
    exceeded = resource_errors.exceeded(request, architecture_of(request.target).name, output)
    if exceeded is not None:
        return exceeded
    missing = _MISSING.search(output)
    if missing is not None:
        return ToolchainError(
            f"{request.name} needs {missing[1]} of ROCm's math library for devices, which is not installed",
            hint=compilers.LIBRARY_FIX,
        )
    tool = f"{' '.join(compiler.command)} {compiler.version}"
    if "ran out of registers" in output:
        return LimitError(
            f"{tool} has too few registers for {request.name}",
            found=output.strip()[:400],
            hint="more threads for each tile, or smaller tiles, give each thread fewer values",
        )
    match = _ERROR.search(output)
    if match is None:
        return ToolchainError(f"{tool} failed on {request.name}: {output.strip()[:400]}")
    return ToolchainError(
        f"{tool} cannot compile the code of {request.name}: {match[2]}",
        found=places.at(request.source.splitlines(), int(match[1])),
        hint="TILECORE_DUMP=dir keeps the source; if the kernel is correct, please report this error",
    )


@functools.lru_cache(maxsize=1)
def _headers() -> str:
    texts = [path.read_text() for folder in INCLUDE for path in sorted(folder.rglob("*.h"))]
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:16]


def version(target: Target) -> str:
    """The compiler that the target's chip gets, and digests of the math library and the headers; part of the keys of
    the kernel cache."""
    return f"{compilers.identity(architecture_of(target).name)}, headers {_headers()}"


TOOLCHAIN = Toolchain(
    find=find,
    build=build,
    version=version,
    installable=INSTALLABLE,
    describe=remarks.describe,
    remarks=remarks.remarks,
)
