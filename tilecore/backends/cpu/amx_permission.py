"""Asks the system whether this process may use tile registers (AMX), which Linux grants each process on request.

Without the permission the first instruction on a tile ends the process, so a target has the AMX features only where the
permission came. It holds for all threads, those started before included, and for children of fork. Linux refuses it
while the thread has a small alternate signal stack.
Source: the Linux kernel's documentation, arch/x86/xstate.rst ("Using XSTATE features in user space applications").
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys

_ARCH_PRCTL = 158  # number of the system call on x86-64
_REQUEST_PERMISSION = 0x1023  # ARCH_REQ_XCOMP_PERM
_TILE_DATA = 18  # the state component of the tiles' contents, XTILEDATA


@functools.lru_cache(maxsize=1)
def may_use_tiles() -> bool:
    """Whether this process may use tile registers; the first call asks for the permission."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        return False
    try:
        library = ctypes.CDLL(None)
        call = library.syscall
    except (OSError, AttributeError):
        return False
    call.restype = ctypes.c_long
    call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_ulong]
    return bool(call(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0)
