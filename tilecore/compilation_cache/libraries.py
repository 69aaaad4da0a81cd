"""Shared libraries of simulators, in the folder ``simulate`` of the cache: each ends with a seal, which is checked
before the library is loaded.

The seal is a line behind the library's own bytes, ``tilecore-library 1 <sha256 of its name and bytes>``. Whoever loads
a library passes over it, and one rename publishes both.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from hashlib import sha256

from tilecore.compilation_cache.eviction import PAGE, StoredFile
from tilecore.compilation_cache.layout import read_file

FOLDER = "simulate"
UNFINISHED = "building-"  # folders that libraries are built in
_MAGIC = b"\ntilecore-library 1 "
_SEAL = len(_MAGIC) + 64 + 1

_checked: dict[str, tuple[int, int, int]] = {}  # path: inode, time and size of the file that was found whole


def seal(path: str, name: str) -> None:
    """Append the seal to the file of a library that is called ``name``."""
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "ab") as file:
        file.write(_seal_of(data, name))


def is_whole(path: str, name: str) -> bool:
    """Whether the library at ``path`` is as it was built; False also where there is none, or something else."""
    try:
        facts = os.lstat(path)
        identity = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
        if _checked.get(path) == identity:
            return True
        data, facts = read_file(path)
    except OSError:
        return False
    if len(data) < _SEAL or data[-_SEAL:] != _seal_of(data[:-_SEAL], name):
        return False
    _checked[path] = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
    return True


def libraries(root: str) -> list[StoredFile]:
    """The libraries in the cache ``root``, except for those that are being built."""
    stored: list[StoredFile] = []
    with contextlib.suppress(OSError), os.scandir(os.path.join(root, FOLDER)) as files:
        for file in files:
            if file.name.startswith(UNFINISHED):
                continue
            with contextlib.suppress(OSError):
                facts = file.stat(follow_symlinks=False)
                stored.append(StoredFile(file.path, facts.st_mtime, -(-facts.st_size // PAGE) * PAGE))
    return stored


def remove_unfinished(root: str) -> None:
    """Remove the folders that libraries were being built in."""
    with contextlib.suppress(OSError):
        for name in os.listdir(os.path.join(root, FOLDER)):
            if name.startswith(UNFINISHED):
                shutil.rmtree(os.path.join(root, FOLDER, name), ignore_errors=True)


def _seal_of(data: bytes, name: str) -> bytes:
    digest = sha256(os.fsencode(name) + b"\0")
    digest.update(data)
    return _MAGIC + digest.hexdigest().encode("ascii") + b"\n"
