"""Memory for loaded code: written first, then executable or read-only; never both writable and executable."""

from __future__ import annotations

import ctypes
import mmap
import os
from functools import lru_cache
from typing import Any

from tilecore.errors import ToolchainError

READ, WRITE, EXECUTE = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC
_LOW_2_GIB = 0x40  # MAP_32BIT of Linux on x86-64
_FAILED = ctypes.c_void_p(-1).value


class Mapping:
    """Pages of this process. ``address``: of the first byte. low: below 2 GiB, where static code can reach it."""

    def __init__(self, size: int, low: bool = False) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (_LOW_2_GIB if low else 0)
        address = _libc().mmap(None, size, READ | WRITE, flags, -1, 0)
        if address in (None, _FAILED):
            raise _failure(f"{size} bytes {'below 2 GiB ' if low else ''}could not be mapped")
        self.address: int = address
        self.size = size

    def write(self, data: bytearray) -> None:
        source = (ctypes.c_char * len(data)).from_buffer(data)
        ctypes.memmove(self.address, source, len(data))

    def protect(self, start: int, size: int, rights: int) -> None:
        """Set the rights of the pages of start..start+size."""
        if _libc().mprotect(self.address + start, size, rights):
            raise _failure(f"its pages could not be made {'executable' if rights & EXECUTE else 'read-only'}")

    def unmap(self) -> None:
        unmap(self.address, self.size)


def unmap(address: int, size: int) -> None:
    _libc().munmap(address, size)


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
    return ToolchainError(
        f"the object file cannot be loaded: {reason}",
        found=os.strerror(error),
        hint="this system may forbid programs to make code at run time (SELinux, a hardened kernel, a sandbox)"
        if error in (1, 13)
        else None,
    )
