"""Finds clang compilers that know AMD's GPUs, and the math library's bitcode (ocml).

The order: ROCM_PATH and HIP_PATH, the default folders of ROCm, ROCm's Python packages, compilers on PATH, clang with a
version in its name (the newest first), and the compiler inside of the Python package ziglang.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tilecore.errors import ToolchainError

FIX = (
    "install ROCm and set ROCM_PATH, or clang 19 or newer with lld (Debian: apt-get install clang-19 lld-19), or "
    "pip install 'tile-hip[compiler]'"
)
LIBRARY_FIX = "install ROCm's device libraries (Debian: apt-get install rocm-device-libs), or set TILE_HIP_DEVICE_LIBS"
_VERSIONS = range(30, 17, -1)  # of clang, the newest first


@dataclass(frozen=True)
class Compiler:
    """A clang. command: its words, two for the one of ziglang. version: the number, such as 19.1.7."""

    command: tuple[str, ...]
    version: str

    @property
    def is_zig(self) -> bool:
        """Is it the clang inside of ziglang, which has no linker under the name that its driver runs?"""
        return len(self.command) > 1

    def architectures(self) -> frozenset[str]:
        """The names of the GPUs that it compiles for."""
        return _architectures(self.command)


def candidates() -> Iterator[tuple[str, ...]]:
    """The commands in the order in which they are tried; those that exist."""
    for root in roots():
        for place in ("llvm/bin/clang++", "bin/amdclang++", "lib/llvm/bin/clang++"):
            if (root / place).is_file():
                yield (str(root / place),)
    names = ["amdclang++", *(f"clang++-{version}" for version in _VERSIONS), "clang++"]
    names += [f"clang-{version}" for version in _VERSIONS]
    for name in names:
        path = shutil.which(name)
        if path:
            yield (path,)
    for folder in _package_folders("ziglang"):
        if (folder / "zig").is_file():
            yield (str(folder / "zig"), "clang")


def roots() -> list[Path]:
    """The folders of ROCm installations: of the environment, the default ones, and those of its Python packages."""
    folders = [Path(os.environ[name]) for name in ("ROCM_PATH", "HIP_PATH") if os.environ.get(name)]
    folders += [Path("/opt/rocm"), *sorted(Path("/opt").glob("rocm-*"), reverse=True)]
    folders += _package_folders("_rocm_sdk_core")
    return [folder for folder in folders if folder.is_dir()]


def _package_folders(name: str) -> list[Path]:
    """The folders of an installed Python package, which is not imported; [] where it is not installed."""
    specification = importlib.util.find_spec(name)
    return [Path(place) for place in (specification.submodule_search_locations or ())] if specification else []


@functools.lru_cache(maxsize=8)
def _architectures(command: tuple[str, ...]) -> frozenset[str]:
    words = [*command, "--target=amdgcn-amd-amdhsa", "--print-supported-cpus", "-nogpulib"]
    process = subprocess.run(words, capture_output=True, text=True, errors="replace")
    return frozenset(re.findall(r"\bgfx[0-9a-f]+\b", process.stdout + process.stderr))


@functools.lru_cache(maxsize=1)
def installed() -> tuple[Compiler, ...]:
    """The compilers of this machine that know some AMD GPU, in the order in which they are tried."""
    compilers, seen = [], set()
    for command in candidates():
        program = (os.path.realpath(command[0]), *command[1:])
        if program in seen:  # one compiler by several names
            continue
        seen.add(program)
        try:
            process = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            continue
        match = re.search(r"clang version (\d+\.\d+\.\d+)", process.stdout)
        if match and _architectures(command):
            compilers.append(Compiler(command, match[1]))
    return tuple(compilers)


def compiler_for(arch: str) -> Compiler:
    """The first compiler that knows the architecture. Raises ToolchainError where there is none."""
    compilers = installed()
    for compiler in compilers:
        if arch in compiler.architectures():
            return compiler
    if not compilers:
        raise ToolchainError(f"there is no compiler for {arch}", found="no clang that knows AMD's GPUs", hint=FIX)
    tried = "; ".join(f"{' '.join(c.command)} {c.version} does not know {arch}" for c in compilers)
    raise ToolchainError(f"there is no compiler for {arch}", found=tried, hint=FIX)


@functools.lru_cache(maxsize=1)
def math_library() -> Path | None:
    """The bitcode of ocml, ROCm's math library for devices; None where it is not installed."""
    folders = [Path(os.environ["TILE_HIP_DEVICE_LIBS"])] if os.environ.get("TILE_HIP_DEVICE_LIBS") else []
    for root in roots():
        folders += [root / "amdgcn" / "bitcode", *(root / "lib" / "llvm").glob("lib/clang/*/lib/amdgcn/bitcode")]
    folders += [*sorted(Path("/usr/lib").glob("*/amdgcn/bitcode")), Path("/usr/lib/amdgcn/bitcode")]
    folders += sorted(Path("/usr/lib").glob("llvm-*/lib/clang/*/amdgcn/bitcode"), reverse=True)
    folders += [folder / "backends" / "amd" / "lib" for folder in _package_folders("triton")]
    return next((folder / "ocml.bc" for folder in folders if (folder / "ocml.bc").is_file()), None)
