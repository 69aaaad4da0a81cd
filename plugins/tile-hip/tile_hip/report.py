"""What ``tilecore doctor`` says of the toolchain: the compiler of each chip, what is missing, and how to get it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tile_hip import compilers, search
from tile_hip.architectures import ARCHITECTURES
from tilecore.contract.records import Found


def find() -> Sequence[Found]:
    """The chosen compilers with their chips, the chips without one, what is skipped and why, and the math library."""
    return [*_compilers(), *_folders_without(), *_skipped(), _library()]


def _compilers() -> list[Found]:
    chips: dict[compilers.Compiler, list[str]] = {}
    missing = []
    installed = compilers.installed()
    for name in ARCHITECTURES:
        compiler = next((compiler for compiler in installed if name in compiler.architectures()), None)
        if compiler is None:
            missing.append(name)
        else:
            chips.setdefault(compiler, []).append(name)
    tools = [
        Found(
            "clang",
            True,
            _place(compiler.command, compiler.origin),
            compiler.version,
            f"compile for {', '.join(names)}",
        )
        for compiler, names in chips.items()
    ]
    if missing:
        versions = ", ".join(f"clang {compiler.version}" for compiler in installed)
        where = f"not known to {versions}" if versions else "no clang that can compile kernels"
        fix = compilers.FIX_OF_NEW_CHIPS if compilers.NEW_CHIPS.issuperset(missing) else compilers.FIX
        tools.append(Found("clang", False, where, "", f"compile for {', '.join(missing)}", fix))
    return tools


def _folders_without() -> list[Found]:
    """The variables that name a ROCm in which there is no clang."""
    origins = {candidate.origin for candidate in search.candidates()}
    if search.CLANG in origins:
        return []
    return [
        Found(name, False, f"there is no clang in {os.environ[name]}", "", "compile", f"set {name} to ROCm's folder")
        for name in ("ROCM_PATH", "HIP_PATH")
        if os.environ.get(name) and name not in origins and not _is_inside(name, origins)
    ]


def _is_inside(name: str, origins: set[str]) -> bool:
    """Is the folder of a variable that of a ROCm that was found by another way?"""
    folder = os.path.realpath(os.environ[name])
    return any(os.path.realpath(root.path) == folder and root.origin in origins for root in search.roots_with_origin())


def _skipped() -> list[Found]:
    return [
        Found(Path(item.command[0]).name, False, f"{_place(item.command, item.origin)} is skipped: {item.reason}",
              item.version, "compile", compilers.FIX)
        for item in compilers.skipped()
    ]  # fmt: skip


def _place(command: tuple[str, ...], origin: str) -> str:
    return f"{' '.join(command)} ({origin})"


def _library() -> Found:
    library, allows = search.math_library(), "compile tanh, sin, pow and the like"
    if library is not None:
        return Found("ocml", True, str(library), "", allows)
    chosen = os.environ.get(search.LIBRARIES, "").strip()
    where = f"there is no ocml.bc in {chosen} ({search.LIBRARIES})" if chosen else "ROCm's math library for devices"
    return Found("ocml", False, where, "", allows, compilers.LIBRARY_FIX)
