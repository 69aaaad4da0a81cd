"""Files with what the system of a device compiled, which it opens by itself, in the folder ``binaries`` of the cache.

A file is called ``<key>-<sha256 of its bytes>``: whoever looks it up checks it, and one rename publishes both.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import sha256

from tilecore.compilation_cache.layout import Layout, read_file


def binary_path(layout: Layout, key: str, data: bytes) -> str:
    """The path of the file that has ``data`` under ``key``."""
    return f"{_start_of_path(layout, key)}{sha256(data).hexdigest()}"


def binary_paths(layout: Layout, key: str) -> list[str]:
    """The paths of all files of ``key``: more than one where several processes wrote at the same time."""
    start = _start_of_path(layout, key)
    folder, name = os.path.split(start)
    with contextlib.suppress(OSError):
        return sorted(f"{folder}/{file}" for file in os.listdir(folder) if file.startswith(name))
    return []


def is_whole_binary(path: str) -> bool:
    """Whether a file has the bytes that its name says; False also where there is none, or something else."""
    try:
        data, _ = read_file(path)
    except OSError:
        return False
    return os.path.basename(path).rpartition("-")[2] == sha256(data).hexdigest()


def _start_of_path(layout: Layout, key: str) -> str:
    return f"{layout.binaries}/{key[:2]}/{key[2:]}-"
