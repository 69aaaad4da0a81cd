"""The places where compilers for AMD's GPUs and the math library's bitcode (ocml) are searched for, in order.

Compilers: ``TILE_HIP_CLANG``; ROCm by ``ROCM_PATH`` and ``HIP_PATH``, in ``/opt`` (the newest first), as the Python
package ``_rocm_sdk_core`` and by ``hipcc`` on PATH; ``amdclang++`` and ``clang++-NN`` on PATH, the newest first; what
``tilecore toolchain install hip`` installed; the Python package ``ziglang``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tile_hip import install

CLANG, LIBRARIES = "TILE_HIP_CLANG", "TILE_HIP_DEVICE_LIBS"  # name one compiler, and the folder of ocml.bc
VARIABLES = (CLANG, LIBRARIES, "ROCM_PATH", "HIP_PATH", "PATH", "TILECORE_DATA_DIR")  # that the results depend on
OPT = Path("/opt")
DEBIAN = Path("/usr/lib")
OCML = "ocml.bc"
_IN_ROOT = ("llvm/bin/clang++", "lib/llvm/bin/clang++", "bin/amdclang++")
_IN_TRITON = "backends/amd/lib"
_IN_IREE = "compiler/_mlir_libs/iree_platform_libs/rocm"


@dataclass(frozen=True)
class Candidate:
    """A program that may be a compiler. command: its words, two for the compiler inside of zig. origin: why it is
    looked at: a variable, a folder or PATH."""

    command: tuple[str, ...]
    origin: str


@dataclass(frozen=True)
class Root:
    """A folder of a ROCm installation, and where it is from."""

    path: Path
    origin: str


def candidates() -> Iterator[Candidate]:
    """The programs that exist, in order, each once. ``TILE_HIP_CLANG`` leaves only the one that it names."""
    chosen = os.environ.get(CLANG, "").strip()
    if chosen:
        yield Candidate(command_of(shutil.which(os.path.expanduser(chosen)) or chosen), CLANG)
        return
    programs: set[str] = set()
    for candidate in _all_candidates():
        program = os.path.realpath(candidate.command[0])
        if program not in programs:  # one compiler often has several names
            programs.add(program)
            yield candidate


def command_of(program: str) -> tuple[str, ...]:
    """The words that call the clang of a program: zig has it as a command of its own."""
    return (program, "clang") if Path(program).name == "zig" else (program,)


def _all_candidates() -> Iterator[Candidate]:
    for root in roots_with_origin():
        for place in _IN_ROOT:
            if os.access(root.path / place, os.X_OK):
                yield Candidate((str(root.path / place),), root.origin)
    for path in (shutil.which("amdclang++"), *_clangs_on_path()):
        if path:
            yield Candidate((path,), "PATH")
    for folder, origin in _zig_folders():
        if os.access(folder / "zig", os.X_OK):
            yield Candidate((str(folder / "zig"), "clang"), origin)


def _clangs_on_path() -> list[str]:
    """``clang++-NN`` and ``clang-NN``, the newest first, then ``clang++`` and ``clang``."""
    numbered: dict[int, str] = {}
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for program in sorted(Path(folder or ".").glob("clang*-[0-9]*"), reverse=True):  # clang-19 before clang++-19
            match = re.fullmatch(r"clang(?:\+\+)?-(\d+)", program.name)
            if match and os.access(program, os.X_OK):
                numbered.setdefault(int(match[1]), str(program))
    plain = [path for name in ("clang++", "clang") if (path := shutil.which(name))]
    return [*(numbered[number] for number in sorted(numbered, reverse=True)), *plain]


def _zig_folders() -> Iterator[tuple[Path, str]]:
    installation = install.compiler_folder()
    if installation is not None:
        yield installation, "tilecore toolchain install hip"
    for folder in package_folders("ziglang"):
        yield folder, "the Python package ziglang"


def roots_with_origin() -> Iterator[Root]:
    """The ROCm installations that exist, in order."""
    for name in ("ROCM_PATH", "HIP_PATH"):
        if os.environ.get(name):
            yield Root(Path(os.environ[name]), name)
    for folder in (OPT / "rocm", *sorted(OPT.glob("rocm-*"), key=_version_of, reverse=True)):
        if folder.is_dir():
            yield Root(folder, str(folder))
    for folder in package_folders("_rocm_sdk_core"):
        yield Root(folder, "the Python package _rocm_sdk_core")
    hipcc = shutil.which("hipcc")
    if hipcc:
        yield Root(Path(hipcc).resolve().parents[1], "hipcc on PATH")


def roots() -> list[Path]:
    """The folders of the ROCm installations that exist, in order."""
    return [root.path for root in roots_with_origin() if root.path.is_dir()]


def _version_of(folder: Path) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", folder.name))


def package_folders(name: str) -> list[Path]:
    """The folders of an installed Python package, which is not imported; [] where it is not installed."""
    try:
        specification = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    return [Path(place) for place in (specification.submodule_search_locations or ())] if specification else []


def library_folders() -> Iterator[Path]:
    """The folders in which ocml.bc may be, in order. ``TILE_HIP_DEVICE_LIBS`` leaves only the one that it names."""
    chosen = os.environ.get(LIBRARIES, "").strip()
    if chosen:
        path = Path(chosen).expanduser()
        yield path.parent if path.name == OCML else path
        return
    for root in roots():
        yield root / "amdgcn" / "bitcode"
        yield from sorted((root / "lib" / "llvm" / "lib" / "clang").glob("*/lib/amdgcn/bitcode"), reverse=True)
        yield from sorted((root / "llvm" / "lib" / "clang").glob("*/lib/amdgcn/bitcode"), reverse=True)
    yield from sorted(DEBIAN.glob("*/amdgcn/bitcode"))
    yield DEBIAN / "amdgcn" / "bitcode"
    yield from sorted(DEBIAN.glob("llvm-*/lib/clang/*/amdgcn/bitcode"), reverse=True)
    library = install.library_folder()
    if library is not None:
        yield library
    yield from (folder / _IN_TRITON for folder in package_folders("triton"))
    yield from (folder / _IN_IREE for folder in package_folders("iree"))


def math_library() -> Path | None:
    """The bitcode of ocml, ROCm's math library for devices; None where it is not installed."""
    return next((folder / OCML for folder in library_folders() if (folder / OCML).is_file()), None)
