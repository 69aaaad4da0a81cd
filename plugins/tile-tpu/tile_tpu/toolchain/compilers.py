"""Finds and runs C compilers: the host's for the CModel, and the vendor's cross compilers for cards."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tile_tpu.chips import Chip
from tilecore import debug
from tilecore.errors import ToolchainError

HOST_NAMES = ("gcc", "cc", "clang")
# the vendor's compilers for the control core, and their folders (PPL's deps/scripts/pcie.cmake)
_RISCV = ("riscv64-unknown-linux-gnu-gcc", "Xuantie-900-gcc-linux-5.10.4-glibc-x86_64-V2.6.1")
_ARM = ("aarch64-none-linux-gnu-gcc", "gcc-arm-10.3-2021.07-x86_64-aarch64-none-linux-gnu")
# compilers for the same processors, but without the vendor's C library: they can only check sources
_CHECKERS = {_RISCV[0]: "riscv64-linux-gnu-gcc", _ARM[0]: "aarch64-linux-gnu-gcc"}


@dataclass(frozen=True)
class Compiler:
    """A C compiler. command: its command line. version: the first line of its ``--version``."""

    command: tuple[str, ...]
    version: str

    def run(self, options: list[str], folder: str) -> tuple[bool, str]:
        """(whether it succeeded, its output in English). It runs in ``folder``."""
        command = [*self.command, *options]
        debug.command(shlex.join(command))
        env = {**os.environ, "LC_ALL": "C"}
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=folder, env=env)
        return ended.returncode == 0, (ended.stderr + ended.stdout).replace(folder + os.sep, "")


def host_compiler() -> Compiler:
    """The C compiler of this machine: the first of CC, gcc, cc and clang that runs. Raises ToolchainError."""
    from_environment = os.environ.get("CC", "").strip()
    commands = [tuple(shlex.split(from_environment))] if from_environment else []
    commands += [(path,) for name in HOST_NAMES if (path := shutil.which(name))]
    for command in commands:
        if version := _version(command):
            return Compiler(command, version)
    tried = ", ".join(shlex.join(c) for c in commands)
    raise ToolchainError(
        "the CModel needs a C compiler",
        found=f"none of {tried} runs" if tried else f"no {', '.join(HOST_NAMES)} on the PATH, and CC is not set",
        hint="install gcc, or set CC to a C compiler",
    )


def card_compiler_name(chip: Chip) -> str:
    """The vendor's compiler for a chip's control core: RISC-V, or ARM for BM1684X."""
    return _for(chip)[0]


def checking_compiler(chip: Chip) -> Compiler | None:
    """The distribution's compiler for the same processor, which can check sources but not build them for a card; None
    where it is not installed."""
    path = shutil.which(_CHECKERS[_for(chip)[0]])
    version = _version((path,)) if path else ""
    return Compiler((path,), version) if path and version else None


def _for(chip: Chip) -> tuple[str, str]:
    return _ARM if chip.name == "bm1684x" else _RISCV


def card_compiler(chip: Chip, variables: Mapping[str, str], roots: list[Path]) -> Compiler:
    """The vendor's cross compiler, from CROSS_TOOLCHAINS, the SDKs or the PATH. Raises ToolchainError.

    variables: the vendor's variables, as :class:`~tile_tpu.toolchain.search.Search` has them. roots: the folders of the
    SDKs.
    """
    name, _ = _for(chip)
    searched = []
    for path in _card_places(chip, variables, roots):
        if os.access(path, os.X_OK) and (version := _version((os.fspath(path),))):
            return Compiler((os.fspath(path),), version)
        searched.append(os.fspath(path))
    raise ToolchainError(
        f"{name}, which compiles code for {chip.name}, is not installed",
        found="searched " + ", ".join([*searched[:6], "PATH"]),
        hint="set CROSS_TOOLCHAINS to the folder of the vendor's compilers, as its download_toolchain.sh fetches them",
    )


def _card_places(chip: Chip, variables: Mapping[str, str], roots: list[Path]) -> Iterator[Path]:
    name, release = _for(chip)
    folders = [Path(variables["CROSS_TOOLCHAINS"]).expanduser()] if variables.get("CROSS_TOOLCHAINS") else []
    folders += [root / "third_party" / "toolchains_dir" for root in roots]
    for folder in folders:
        yield folder / release / "bin" / name
        yield folder / "bin" / name
        yield from sorted(folder.glob(f"*/bin/{name}"))
    on_path = shutil.which(name)
    if on_path:
        yield Path(on_path)


@functools.lru_cache(maxsize=32)
def _version(command: tuple[str, ...]) -> str:
    try:
        ended = subprocess.run([*command, "--version"], capture_output=True, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = ended.stdout.strip().splitlines()
    return lines[0] if ended.returncode == 0 and lines else ""
