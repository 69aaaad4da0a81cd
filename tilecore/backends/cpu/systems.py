"""The systems whose processors the target ``cpu`` compiles for, and what LLVM is told of them.

Objects are ELF on all of them: the end of LLVM's triple, ``-elf``, says so. Apart from that, calls are those of the
system: Windows passes arguments in other registers than Linux, macOS on aarch64 keeps register x18 for itself and
passes variable arguments on the stack. The loader of such objects is our own (elf.py).
"""

from __future__ import annotations

import platform
import sys
from typing import Any

from tilecore.backends.cpu.processors import AARCH64_PROCESSORS, PROCESSORS
from tilecore.contract.adapter import this_machine
from tilecore.errors import TargetError

LINUX, MACOS, WINDOWS = "linux", "macos", "windows"
SYSTEMS = (LINUX, MACOS, WINDOWS)
X86_64, AARCH64 = "x86_64", "aarch64"
_SYSTEMS = {"linux": LINUX, "darwin": MACOS, "win32": WINDOWS}  # by sys.platform
_MACHINES = {"x86_64": X86_64, "amd64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}  # by platform.machine()
_TRIPLES = {
    (LINUX, X86_64): "x86_64-unknown-linux-gnu",
    (LINUX, AARCH64): "aarch64-unknown-linux-gnu",
    (MACOS, X86_64): "x86_64-unknown-macosx11.0.0-elf",
    (MACOS, AARCH64): "arm64-unknown-macosx11.0.0-elf",
    (WINDOWS, X86_64): "x86_64-pc-windows-msvc-elf",
}
# (sys.platform, platform.machine()) of Python there
_OF_PYTHON = {
    (LINUX, X86_64): "linux-x86_64",
    (LINUX, AARCH64): "linux-aarch64",
    (MACOS, X86_64): "darwin-x86_64",
    (MACOS, AARCH64): "darwin-arm64",
    (WINDOWS, X86_64): "win32-AMD64",
}


def host_system() -> str:
    """This system: "linux", "macos" or "windows"; another by the name that Python has for it."""
    return _SYSTEMS.get(sys.platform, sys.platform)


def host_machine() -> str:
    """The instruction set of this machine: "x86_64" or "aarch64"; another by the name that the system has for it."""
    name = platform.machine().lower()
    return _MACHINES.get(name, name)


def system_of(target: Any) -> str:
    """The system that kernels for a target run on; a target that does not say is for Linux."""
    return str(target.get("system") or LINUX)


def machine_of(target: Any) -> str:
    """The instruction set of a target: that of the processor that it names, of this machine where it names none."""
    return machine_of_processor(str(target.get("march") or "native"))


def machine_of_processor(name: str) -> str:
    """The instruction set of a processor by LLVM's name; that of this machine for "native" and "generic"."""
    if name in AARCH64_PROCESSORS:
        return AARCH64
    return X86_64 if name in PROCESSORS and name != "generic" else host_machine()


def python_name(target: Any) -> str:
    """The system and machine of a target as Python names them there, "linux-x86_64" for one."""
    pair = system_of(target), machine_of(target)
    return _OF_PYTHON.get(pair, this_machine())


def require_known(system: str, machine: str) -> None:
    """Raises TargetError for a system that has no kernels for the instruction set."""
    if (system, machine) not in _TRIPLES and not (system == LINUX and machine == host_machine()):
        known = [f"{other} on {processor}" for other, processor in _TRIPLES]
        raise TargetError(
            f"there are no kernels for {system} on {machine}",
            found=f"-system={system}, and a processor of {machine}",
            expected=", ".join(known),
            hint="name a processor by -march=, such as x86-64-v3 or armv8-a",
        )


def triple_of(target: Any) -> str | None:
    """LLVM's triple for a target; None for Linux on this machine, for which LLVM's own default is right."""
    pair = system_of(target), machine_of(target)
    return None if pair == (LINUX, host_machine()) and host_system() == LINUX else _TRIPLES.get(pair)
