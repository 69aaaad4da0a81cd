"""Chooses the clang for a chip: the first in the order of :mod:`tile_hip.search` that can compile for it.

Each program is asked for its version, the chips that it knows, and its linker; an old one is asked to read the header.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tilecore.codegen
from tile_hip import search
from tile_hip.search import Candidate, math_library, roots
from tilecore.errors import ToolchainError

__all__ = ["FIX", "LIBRARY_FIX", "Compiler", "Skipped", "compiler_for", "installed", "math_library", "roots", "skipped"]
FIX = (
    "tilecore toolchain install hip; or pip install 'tile-hip[compiler]'; or install clang 18 or newer with its lld "
    "(Debian: apt-get install clang-19 lld-19), or ROCm, and name it by TILE_HIP_CLANG or ROCM_PATH if it is not found"
)
# of chips that LLVM 19 does not know
FIX_OF_NEW_CHIPS = (
    "tilecore toolchain install hip; or pip install 'tile-hip[compiler]'; or install clang 20 or newer with lld, or "
    "a ROCm that knows the chip, and name it by TILE_HIP_CLANG or ROCM_PATH if it is not found"
)
NEW_CHIPS = frozenset({"gfx950"})
LIBRARY_FIX = (
    "tilecore toolchain install hip; or install ROCm's device libraries (Debian: apt-get install rocm-device-libs); or "
    "set TILE_HIP_DEVICE_LIBS to a folder with ocml.bc"
)
INCLUDE = (Path(__file__).parent / "include", Path(tilecore.codegen.__file__).parent / "include")
_FIRST_MAJOR = 18  # of clang: the first with __scoped_atomic_load_n, __MEMORY_SCOPE_DEVICE and __builtin_exp10f
_TIMEOUT = 60  # seconds


@dataclass(frozen=True)
class Compiler:
    """A clang. command: its words, two for the one of zig. version: the number, such as 19.1.7. origin: where it was
    found. description: the first line of its own words about its version, which also names the build."""

    command: tuple[str, ...]
    version: str
    origin: str = ""
    description: str = ""

    @property
    def is_zig(self) -> bool:
        """Is it the clang inside of zig, which has no linker under the name that its driver runs?"""
        return len(self.command) > 1

    def architectures(self) -> frozenset[str]:
        """The names of the GPUs that it compiles for."""
        return _architectures(self.command)


@dataclass(frozen=True)
class Skipped:
    """A program that is not used, and why."""

    command: tuple[str, ...]
    version: str
    origin: str
    reason: str


def _examined() -> Iterator[Compiler | Skipped]:
    """What the candidates are, in their order; each is asked when its turn comes."""
    for candidate in search.candidates():
        yield _examine(candidate)


@functools.lru_cache(maxsize=64)
def _examine(candidate: Candidate) -> Compiler | Skipped:
    command, origin = candidate.command, candidate.origin
    try:
        answer = _answer(command)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Skipped(command, "", origin, f"it does not run: {getattr(error, 'strerror', None) or error}")
    match = re.search(r"^.*clang version (\d+\.\d+\.\d+).*$", answer, re.MULTILINE)
    if match is None:
        return Skipped(
            command, "", origin, f"it is no clang: it answers {answer.strip().partition(chr(10))[0][:120]!r}"
        )
    version = match[1]
    reason = _fault(command, version)
    return Skipped(command, version, origin, reason) if reason else Compiler(command, version, origin, match[0].strip())


def _fault(command: tuple[str, ...], version: str) -> str:
    """Why a clang of this version cannot compile kernels; "" if it can."""
    architectures = _architectures(command)
    if not architectures:
        return "it is built without AMD's GPUs"
    if int(version.partition(".")[0]) <= _FIRST_MAJOR:  # ROCm's builds of the first version may lack a function
        error = _header_error(command, sorted(architectures & {"gfx90a", "gfx1100"})[-1:])
        if error:
            return f"it is too old, clang {_FIRST_MAJOR} or newer is needed: {error}"
    if len(command) == 1 and not _has_linker(command[0]):
        major = version.partition(".")[0]
        return (
            f"it has no lld beside it or on PATH: install the lld of its version (Debian: apt-get install lld-{major})"
        )
    return ""


def _header_error(command: tuple[str, ...], architectures: list[str]) -> str:
    """The compiler's first complaint about tile-hip's header; "" if there is none."""
    if not architectures:
        return "it knows neither gfx90a nor gfx1100"
    (arch,) = architectures
    options = ["-x", "hip", f"--offload-arch={arch}", "--offload-device-only", "-nogpulib", "-nogpuinc", "-std=c++17"]
    options += ["-mcode-object-version=5", f"-DTC_WAVE={64 if arch == 'gfx90a' else 32}", "-DTC_ISA_VERSION=9010"]
    options += [*(f"-I{folder}" for folder in INCLUDE), "-include", "tilecore_hip.h", "-fsyntax-only", os.devnull]
    process = subprocess.run([*command, *options], capture_output=True, text=True, errors="replace")
    if process.returncode == 0:
        return ""
    match = re.search(r"error: (.*)", process.stderr)
    return match[1] if match else process.stderr.strip()[:200] or f"exit code {process.returncode}"


def _has_linker(program: str) -> bool:
    """Is there an ``lld`` where clang's driver looks for it: beside the program, and on PATH?"""
    folders = {Path(program).parent, Path(os.path.realpath(program)).parent}
    return any(os.access(folder / "lld", os.X_OK) for folder in folders) or shutil.which("lld") is not None


@functools.lru_cache(maxsize=64)
def _answer(command: tuple[str, ...]) -> str:
    """What a program says of its version and of the GPUs that it knows. Raises OSError or TimeoutExpired."""
    words = [*command, "-v", "--target=amdgcn-amd-amdhsa", "--print-supported-cpus", "-nogpulib"]
    process = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT)
    return process.stdout + process.stderr


def _architectures(command: tuple[str, ...]) -> frozenset[str]:
    _, _, listed = _answer(command).partition("Available CPUs")
    return frozenset(re.findall(r"^\s+(gfx[0-9a-f]+)$", listed, re.MULTILINE))


def installed() -> tuple[Compiler, ...]:
    """The compilers of this machine that can compile kernels, in the order in which they are tried."""
    return tuple(item for item in _examined() if isinstance(item, Compiler))


def skipped() -> tuple[Skipped, ...]:
    """The programs of this machine that cannot compile kernels, with the reasons."""
    return tuple(item for item in _examined() if isinstance(item, Skipped))


def compiler_for(arch: str) -> Compiler:
    """The first compiler that knows the architecture. Raises ToolchainError where there is none, with the reasons."""
    reasons = []
    for item in _examined():
        name = f"{' '.join(item.command)} {item.version}".strip()
        if isinstance(item, Skipped):
            reasons.append(f"{name}: {item.reason}")
        elif arch in item.architectures():
            return item
        else:
            reasons.append(f"{name} does not know {arch}")
    hint = FIX_OF_NEW_CHIPS if arch in NEW_CHIPS else FIX
    chosen = os.environ.get(search.CLANG, "").strip()
    if chosen:
        hint = f"unset {search.CLANG}, or name another compiler by it"
    raise ToolchainError(
        f"there is no compiler for {arch}", found="; ".join(reasons) or "no clang on this machine", hint=hint
    )


def identity(arch: str) -> str:
    """What the code object for an architecture depends on beside the source: the chosen compiler and the math library,
    as a text for cache keys. Quick: the results of each environment are remembered."""
    environment = tuple(os.environ.get(name) for name in search.VARIABLES)
    try:
        return _identity(arch, environment)
    except ToolchainError:  # not remembered: a compiler may be installed while this process runs
        return f"no compiler for {arch}"


@functools.lru_cache(maxsize=64)
def _identity(arch: str, environment: tuple[str | None, ...]) -> str:
    compiler = compiler_for(arch)
    library = math_library()
    digest = hashlib.sha256(library.read_bytes()).hexdigest()[:16] if library else "none"
    return f"{compiler.description or compiler.version}, ocml {digest}"
