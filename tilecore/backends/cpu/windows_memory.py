"""Memory for loaded code on Windows. Source: Microsoft's reference of memoryapi.h and processthreadsapi.h."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

from tilecore.backends.cpu.code_rights import EXECUTE, WRITE, Pages, forbidden
from tilecore.errors import ToolchainError

_COMMIT, _RESERVE, _RELEASE = 0x1000, 0x2000, 0x8000  # MEM_*
_READ_ONLY, _READ_WRITE, _EXECUTE_READ = 0x02, 0x04, 0x20  # PAGE_*
_BELOW = 2**31 - 1  # the highest address that static code reaches
_DENIED = (5, 1655)  # ERROR_ACCESS_DENIED, ERROR_DYNAMIC_CODE_BLOCKED


class Mapping(Pages):
    """Pages that can be written. low: below 2 GiB, where static code can reach them."""

    def __init__(self, size: int, low: bool = False) -> None:
        places = range(0x10000000, _BELOW - size, 0x1000000) if low else (None,)
        for place in places:
            address = _kernel32().VirtualAlloc(place, size, _COMMIT | _RESERVE, _READ_WRITE)
            if address:
                break
        else:
            raise _failure(f"{size} bytes {'below 2 GiB ' if low else ''}could not be mapped")
        self.address = address
        self.size = size

    def protect(self, start: int, size: int, rights: int) -> None:
        """Set the rights of the pages of start..start+size."""
        value = _EXECUTE_READ if rights & EXECUTE else _READ_WRITE if rights & WRITE else _READ_ONLY
        before = ctypes.c_uint32()
        if not _kernel32().VirtualProtect(self.address + start, size, value, ctypes.byref(before)):
            raise _failure(f"its pages could not be made {'executable' if rights & EXECUTE else 'read-only'}")
        if rights & EXECUTE:
            kernel32 = _kernel32()
            kernel32.FlushInstructionCache(kernel32.GetCurrentProcess(), self.address + start, size)

    def unmap(self) -> None:
        unmap(self.address, self.size)


def unmap(address: int, size: int) -> None:
    _kernel32().VirtualFree(address, 0, _RELEASE)


@lru_cache(maxsize=1)
def _kernel32() -> Any:
    library = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined,unused-ignore]
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    library.VirtualAlloc.restype = library.GetCurrentProcess.restype = pointer
    library.VirtualAlloc.argtypes = (pointer, size, number, number)
    library.VirtualProtect.argtypes = (pointer, size, number, pointer)
    library.VirtualFree.argtypes = (pointer, size, number)
    library.FlushInstructionCache.argtypes = (pointer, pointer, size)
    return library


def _failure(reason: str) -> ToolchainError:
    error = ctypes.get_last_error()  # type: ignore[attr-defined,unused-ignore]
    text = ctypes.FormatError(error)  # type: ignore[attr-defined,unused-ignore]
    return forbidden(reason, text, error in _DENIED)
