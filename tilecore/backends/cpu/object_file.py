"""The object file of a TVM module, as bytes. LLVM writes to a path, and ends the process where it cannot.

So it writes to memory that has a path (Linux), and only where that is sure to succeed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tilecore.errors import ToolchainError

if sys.platform == "win32":

    def _largest_file() -> int | None:
        return None

else:
    import resource

    def _largest_file() -> int | None:
        """The most bytes that a file of this process may have; None where there is no limit."""
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        return None if limit == resource.RLIM_INFINITY else limit


# An object is at most so many bytes longer than so many times its assembly text, reserved space apart: a line of
# text with a name in it becomes an instruction, a relocation of 24 bytes and at most one symbol.
_TIMES, _FIXED = 4, 1 << 16
_RESERVED = re.compile(r"^\s*\.(?:zero|skip|space|fill|p2align|align|balign)\s+(\d+)", re.MULTILINE)


def object_bytes(module: Any, name: str) -> bytes:
    """The relocatable object of ``module``, made for the kernel ``name``. Raises ToolchainError where it has no
    room."""
    _require_file_size(module, name)
    create = getattr(os, "memfd_create", None)
    if create is not None and os.path.isdir("/proc/self/fd"):
        return _by_memory(module, create("tilecore-kernel.o"))
    with tempfile.TemporaryDirectory(prefix="tilecore-") as folder:
        _require_space(module, name, folder)
        path = Path(folder, "kernel.o")
        module.write_to_file(os.fspath(path), "o")
        return path.read_bytes()


def _by_memory(module: Any, handle: int) -> bytes:
    with os.fdopen(handle, "rb") as file:
        module.write_to_file(f"/proc/self/fd/{handle}", "o")
        return file.read()


def _require_file_size(module: Any, name: str) -> None:
    """The limit on the size of files is one on memory that has a path, too."""
    limit = _largest_file()
    if limit is None:
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
