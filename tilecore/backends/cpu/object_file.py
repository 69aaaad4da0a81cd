"""The object file of a TVM module, as bytes. LLVM writes to a path, and ends the process where it cannot.

So it writes to memory that has a path (Linux), and only where that is sure to succeed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tilecore.errors import ToolchainError

try:
    import resource
except ImportError:  # not a POSIX system: there are no such limits
    resource = None  # type: ignore[assignment]

# An object is at most so many bytes longer than so many times its assembly text, reserved space apart: a line of
# text with a name in it becomes an instruction, a relocation of 24 bytes and at most one symbol.
_TIMES, _FIXED = 4, 1 << 16
_RESERVED = re.compile(r"^\s*\.(?:zero|skip|space|fill|p2align|align|balign)\s+(\d+)", re.MULTILINE)


def object_bytes(module: Any, name: str) -> bytes:
    """The relocatable object of ``module``, made for the kernel ``name``. Raises ToolchainError where it has no
    room."""
    _require_file_size(module, name)
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        return _by_memory(module)
    with tempfile.TemporaryDirectory(prefix="tilecore-") as folder:
        _require_space(module, name, folder)
        path = Path(folder, "kernel.o")
        module.write_to_file(os.fspath(path), "o")
        return path.read_bytes()


def _by_memory(module: Any) -> bytes:
    handle = os.memfd_create("tilecore-kernel.o")
    with os.fdopen(handle, "rb") as file:
        module.write_to_file(f"/proc/self/fd/{handle}", "o")
        return file.read()


def _require_file_size(module: Any, name: str) -> None:
    """The limit on the size of files is one on memory that has a path, too."""
    limit = -1 if resource is None else resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if resource is None or limit == resource.RLIM_INFINITY:
        return
    needed = _most_bytes(module)
    if limit < needed:
        raise ToolchainError(
            f"the object code of {name} may not fit into a file of this process",
            found=f"files of at most {limit} bytes (RLIMIT_FSIZE)",
            expected=f"{needed} bytes",
            hint="raise the limit: ulimit -f unlimited, or resource.setrlimit(resource.RLIMIT_FSIZE, ...)",
        )


def _require_space(module: Any, name: str, folder: str) -> None:
    needed, free = _most_bytes(module), shutil.disk_usage(folder).free
    if free < needed:
        raise ToolchainError(
            f"there is no room for the object code of {name}",
            found=f"{free} bytes free in {os.path.dirname(folder)}",
            expected=f"{needed} bytes",
            hint="free some space, or set TMPDIR to a folder that has some",
        )


def _most_bytes(module: Any) -> int:
    """No object of ``module`` is larger."""
    text = str(module.inspect_source("s"))
    reserved = sum(map(int, _RESERVED.findall(text)))
    return _FIXED + _TIMES * len(text) + reserved
