"""NVTX ranges on the calling thread, which Nsight Systems and Nsight Compute show.

By the package ``nvtx`` where it is installed, else by a library with NVTX's functions in C: libnvToolsExt of CUDA up to
12, libnvtx3interop of the wheel nvidia-nvtx (NVTX's reference, "Push/Pop Ranges").
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tilecore.errors import ToolchainError

_LIBRARIES = ("libnvToolsExt.so.1", "libnvtx3interop.so.1", "libnvtx3interop.so")
_IN_PACKAGES = ("nvtx/lib", "cu13/lib")  # under the packages "nvidia" of wheels


@functools.lru_cache(maxsize=1)
def functions() -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """(open a range of a name, close the innermost). Raises ToolchainError where NVTX is not installed."""
    if importlib.util.find_spec("nvtx") is not None:
        import nvtx

        return nvtx.push_range, nvtx.pop_range
    library = _library()
    if library is None:
        raise ToolchainError(
            "NVTX is not installed, so launches cannot be ranges",
            found=f"no package nvtx, none of {', '.join(_LIBRARIES)}",
            hint="pip install nvtx, or unset TILECORE_RANGES",
        )
    return from_library(library)


def from_library(library: ctypes.CDLL) -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """The two functions of a library with NVTX's functions in C."""
    push, pop = library.nvtxRangePushA, library.nvtxRangePop
    push.argtypes, push.restype = [ctypes.c_char_p], ctypes.c_int
    pop.argtypes, pop.restype = [], ctypes.c_int
    return lambda name: push(name.encode()), pop


def _library() -> ctypes.CDLL | None:
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(root) for root in (spec.submodule_search_locations or ())] if spec is not None else []
    folders = [root / place for root in roots for place in _IN_PACKAGES]
    for name in (*_LIBRARIES, *(str(folder / name) for folder in folders for name in _LIBRARIES)):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None
