"""ROCTX ranges on the calling thread, which rocprof and rocprofv3 show (ROCm's documentation, "Using ROCTx")."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from tilecore.errors import ToolchainError

_LIBRARIES = ("librocprofiler-sdk-roctx.so", "librocprofiler-sdk-roctx.so.0", "libroctx64.so", "libroctx64.so.4")


@functools.lru_cache(maxsize=1)
def functions() -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """(open a range of a name, close the innermost). Raises ToolchainError where ROCTX is not installed."""
    for name in _LIBRARIES:
        try:
            return from_library(ctypes.CDLL(name))
        except OSError:
            continue
    raise ToolchainError(
        "ROCTX is not installed, so launches cannot be ranges",
        found=f"none of {', '.join(_LIBRARIES)}",
        hint="install ROCm's roctracer or rocprofiler-sdk, or unset TILECORE_RANGES",
    )


def from_library(library: ctypes.CDLL) -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """The two functions of a library with ROCTX's functions."""
    push, pop = library.roctxRangePushA, library.roctxRangePop
    push.argtypes, push.restype = [ctypes.c_char_p], ctypes.c_int
    pop.argtypes, pop.restype = [], ctypes.c_int
    return lambda name: push(name.encode()), pop
