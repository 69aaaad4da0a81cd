"""Loads relocatable objects, as LLVM writes them, into this process: no linker and no compiler needed.

loaded = load_object(data, {"helper": address})
loaded.address("kernel")
"""

from __future__ import annotations

import ctypes
import platform
import sys
import weakref
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from tilecore.backends.cpu import systems
from tilecore.backends.cpu.code_memory import EXECUTE, PAGE, READ, unmap
from tilecore.backends.cpu.code_memory import Mapping as MemoryMapping
from tilecore.backends.cpu.elf_link import CODE, DATA, Linker, needs_low_addresses, plan_layout
from tilecore.backends.cpu.elf_object import AARCH64, MACHINES, X86_64, read_object
from tilecore.backends.cpu.systems import LINUX, MACOS, WINDOWS, host_system
from tilecore.errors import ToolchainError

_MACHINES = {systems.X86_64: X86_64, systems.AARCH64: AARCH64}
# where functions are looked up; None: what this process has loaded
_LIBRARIES = {
    LINUX: (None, "libm.so.6", "libgcc_s.so.1"),
    MACOS: (None,),  # libSystem, which has the functions of libm
    WINDOWS: ("ucrtbase", "vcruntime140", "ntdll"),  # the last for __chkstk, which large stack frames call
}


class LoadedObject:
    """An object in memory. It is unmapped by ``close()``, or when nothing refers to it any more."""

    def __init__(self, mapping: MemoryMapping, symbols: dict[str, int]) -> None:
        self._symbols = symbols
        self.size = mapping.size
        self._finalizer = weakref.finalize(self, unmap, mapping.address, mapping.size)
        self._finalizer.atexit = False  # a thread may still run this code while the process ends

    def address(self, symbol: str) -> int:
        """Where ``symbol`` is. Raises ToolchainError when the object does not define it, or was closed."""
        if not self._finalizer.alive:
            raise ToolchainError(f"{symbol}: the object was closed")
        if symbol not in self._symbols:
            raise ToolchainError(
                f"the object does not define {symbol}", found=", ".join(sorted(self._symbols)) or "no symbols"
            )
        return self._symbols[symbol]

    def keep_only(self, symbols: Iterable[str]) -> None:
        """Forget where all other symbols are."""
        kept = set(symbols)
        self._symbols = {symbol: place for symbol, place in self._symbols.items() if symbol in kept}

    def close(self) -> None:
        """Unmap it: no code or data of it may be used afterwards."""
        self._finalizer()


def load_object(data: bytes, externals: Mapping[str, int] | None = None) -> LoadedObject:
    """Load an ELF object for this machine.

    externals: addresses of symbols that the object uses; what is not there is looked up in this process and in the
    system's libraries. Raises ToolchainError when the object is damaged, is for another machine, or needs what is not
    there.
    """
    elf = read_object(data)
    machine = host_machine()
    if elf.machine != machine:
        raise ToolchainError(
            f"the object file is for {MACHINES.get(elf.machine, f'machine {elf.machine}')}",
            expected=MACHINES.get(machine or 0, f"a machine that can be loaded, this one is {platform.machine()}"),
        )

    def resolve(name: str) -> int | None:
        return externals[name] if externals and name in externals else find_external(name)

    layout = plan_layout(elf, PAGE)
    mapping = MemoryMapping(layout.size, needs_low_addresses(elf))
    try:
        linker = Linker(elf, layout, mapping.address, resolve)
        mapping.write(linker.link())
        for kind, start, size in layout.areas:
            if kind != DATA:
                mapping.protect(start, size, READ | EXECUTE if kind == CODE else READ)
        symbols = linker.exported()
    except BaseException:
        mapping.unmap()
        raise
    return LoadedObject(mapping, symbols)


def supported() -> tuple[bool, str]:
    """Whether objects can be loaded into this process, and why not."""
    if host_system() not in _LIBRARIES:
        return False, f"objects are loaded on {', '.join(_LIBRARIES)}, and this is {sys.platform}"
    machine = host_machine()
    if machine is None or sys.byteorder != "little" or sys.maxsize < 2**62:
        return False, f"objects are loaded on {' and '.join(MACHINES.values())} only, and this is {platform.machine()}"
    return True, f"{MACHINES[machine]}, {sys.platform}"


def host_machine() -> int | None:
    """The ELF number of this machine, None when its relocations are not known."""
    return _MACHINES.get(systems.host_machine())


@lru_cache(maxsize=1024)
def find_external(name: str) -> int | None:
    """The address of a function of the C library, libm or the compiler's runtime; None when there is none."""
    for file in _LIBRARIES.get(host_system(), ()):
        library = _library(file)
        if library is not None and hasattr(library, name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    return None


@lru_cache
def _library(name: str | None) -> Any:
    try:
        return ctypes.CDLL(name)
    except OSError:  # musl has libm in libc; libgcc is not everywhere
        return None
