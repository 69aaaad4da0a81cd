"""Opens shared libraries of kernels, and closes them when nothing uses them any more."""

from __future__ import annotations

import ctypes
import os
import sys
import weakref
from pathlib import Path
from typing import Any


def opened(path: str | Path, owner: object, mode: int = ctypes.DEFAULT_MODE) -> Any:
    """The library at ``path`` as ctypes opens it, until ``owner`` is collected; then it is closed, and its pages leave
    the process.

    owner: whoever runs the library's functions keeps it. mode: of dlopen. Raises OSError for what cannot be opened."""
    library = ctypes.CDLL(os.fspath(path), mode=mode)
    closing = weakref.finalize(owner, _close, library._handle)
    closing.atexit = False  # a thread may still run its code when the process ends
    return library


def _close(handle: int) -> None:
    """Close a library once; ctypes itself never does."""
    import _ctypes  # where ctypes has the functions for it

    if sys.platform == "win32":
        _ctypes.FreeLibrary(handle)
    else:
        _ctypes.dlclose(handle)
