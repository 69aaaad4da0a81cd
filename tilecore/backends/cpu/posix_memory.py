"""Memory for loaded code on Linux and macOS.

macOS on aarch64 lets a process make pages executable that it wrote before, unless they are still writable, where its
program was signed without the hardened runtime or with the right to unsigned executable memory, as Pythons are.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import lru_cache
from typing import Any

from tilecore.backends.cpu.code_rights import EXECUTE, READ, WRITE, Pages, forbidden
from tilecore.errors import ToolchainError

assert sys.platform != "win32"

_LOW_2_GIB = 0x40  # MAP_32BIT of Linux on x86-64
_FAILED = ctypes.c_void_p(-1).value
_DENIED = (1, 13)  # EPERM, EACCES


class Mapping(Pages):
    """Pages that can be written. low: below 2 GiB, where static code can reach them."""

    def __init__(self, size: int, low: bool = False) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (_LOW_2_GIB if low else 0)
        address = _libc().mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if address in (None, _FAILED):
            raise _failure(f"{size} bytes {'below 2 GiB ' if low else ''}could not be mapped")
        self.address = address
        self.size = size

    def protect(self, start: int, size: int, rights: int) -> None:
        """Set the rights of the pages of start..start+size."""
        if _libc().mprotect(self.address + start, size, _protection(rights)):
            raise _failure(f"its pages could not be made {'executable' if rights & EXECUTE else 'read-only'}")
        # Linux makes new code visible to instruction fetch when the pages first become executable
        if rights & EXECUTE and sys.platform == "darwin":
            _libc().sys_icache_invalidate(ctypes.c_void_p(self.address + start), ctypes.c_size_t(size))

    def unmap(self) -> None:
        unmap(self.address, self.size)


def unmap(address: int, size: int) -> None:
    _libc().munmap(address, size)


def _protection(rights: int) -> int:
    pairs = ((READ, mmap.PROT_READ), (WRITE, mmap.PROT_WRITE), (EXECUTE, mmap.PROT_EXEC))
    return sum(bit for right, bit in pairs if rights & right)


@lru_cache(maxsize=1)
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    )  # fmt: skip
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return libc


def _failure(reason: str) -> ToolchainError:
    error = ctypes.get_errno()
    return forbidden(reason, os.strerror(error), error in _DENIED)
