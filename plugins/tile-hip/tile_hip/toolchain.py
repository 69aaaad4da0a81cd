"""Compiles source to a code object, an ELF file for the GPU, by clang in a child process."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tilecore.codegen
from tile_hip import compilers, simulated
from tile_hip.options import FAST_MATH
from tile_hip.target import architecture_of, wave_of
from tilecore import debug
from tilecore.contract.records import BuildRequest, Found, Toolchain
from tilecore.errors import ToolchainError
from tilecore.target import Target

FORMAT = "hsaco"
INCLUDE = (simulated.INCLUDE, Path(tilecore.codegen.__file__).parent / "include")
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
        output = ""
        for command in commands(compiler, request):
            debug.command(" ".join(command))
            process = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=folder)
            output += (process.stdout + process.stderr).replace(name + os.sep, "")
            if process.returncode:
                raise _refused(request, compiler, output)
        if request.verbose and output.strip():
            print(output.strip())
        return (folder / "kernel.co").read_bytes(), FORMAT


def commands(compiler: compilers.Compiler, request: BuildRequest) -> list[list[str]]:
    """The commands that compile ``kernel.hip`` to ``kernel.co`` in the current folder."""
    arch = architecture_of(request.target).name
    options = ["-x", "hip", f"--offload-arch={arch}", "--offload-device-only", "-nogpulib", "-nogpuinc", "-std=c++17"]
    options += ["-O3", "-fno-math-errno", "-mcode-object-version=5", f"-DTC_ISA_VERSION={isa_version(arch)}"]
    if _writes_messages(request.source):
        options.append("-DTC_MESSAGES")
    options += ["-ffp-contract=off", *(f"-I{folder}" for folder in INCLUDE)]
    if FAST_MATH.value_in(request.config):
        options += ["-ffast-math", "-fgpu-flush-denormals-to-zero"]
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


def isa_version(arch: str) -> int:
    """The number by which ocml knows an architecture: major * 1000 + minor * 100 + stepping, as in 9402 for gfx942."""
    digits = arch.removeprefix("gfx")
    return int(digits[:-2]) * 1000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)


def _refused(request: BuildRequest, compiler: compilers.Compiler, output: str) -> ToolchainError:
    missing = _MISSING.search(output)
    if missing is not None:
        return ToolchainError(
            f"{request.name} needs {missing[1]} of ROCm's math library for devices, which is not installed",
            hint=compilers.LIBRARY_FIX,
        )
    match = _ERROR.search(output)
    tool = f"{' '.join(compiler.command)} {compiler.version}"
    if match is None:
        return ToolchainError(f"{tool} failed on {request.name}: {output.strip()[:400]}")
    lines = request.source.splitlines()
    line = lines[int(match[1]) - 1].strip() if int(match[1]) <= len(lines) else ""
    return ToolchainError(
        f"{tool} cannot compile the code of {request.name}: {match[2]}",
        found=f"line {match[1]}: {line}",
        hint="TILECORE_DUMP=dir keeps the source; if the kernel is correct, please report this error",
    )


def find() -> Sequence[Found]:
    """The compilers and the math library, with their versions or how to install them."""
    tools = [Found("clang", True, " ".join(c.command), c.version, "compile") for c in compilers.installed()]
    if not tools:
        tools.append(Found("clang", False, "no clang that knows AMD's GPUs", "", "compile", compilers.FIX))
    library = compilers.math_library()
    if library is None:
        tools.append(Found("ocml", False, "ROCm's math library for devices", "", "compile", compilers.LIBRARY_FIX))
    else:
        tools.append(Found("ocml", True, str(library), "", "compile"))
    return tools


@functools.lru_cache(maxsize=1)
def _versions() -> str:
    texts = [path.read_text() for folder in INCLUDE for path in sorted(folder.rglob("*.h"))]
    digest = hashlib.sha256(repr(texts).encode()).hexdigest()[:16]
    return ", ".join([*(f"clang {c.version}" for c in compilers.installed()), f"headers {digest}"])


def version(target: Target) -> str:
    """The versions of the compilers, and a digest of the headers; part of the keys of the kernel cache."""
    return _versions()


TOOLCHAIN = Toolchain(find=find, build=build, version=version)
