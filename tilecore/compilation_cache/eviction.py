"""Keeps the cache under its size limit: evicts the least recently used entries first.

A hit sets an entry's modification time (at most once an hour), so the oldest time is the least recently used.
Looking at every file is for rare occasions: writers append one byte per page written to the file ``growth``, which
all processes share, and only when an eighth of the limit has been written is the cache gone through.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass

from tilecore.compilation_cache.layout import NO_WAIT, Layout

PAGE = 4096
USED_SECONDS = 3600.0


@dataclass(frozen=True)
class StoredFile:
    """A file of the cache: its path, its last use (seconds since the epoch) and its size on disk in bytes."""

    path: str
    used: float
    size: int


def note_use(path: str, modified: float) -> None:
    """Mark an entry as used now, unless it was marked within the hour."""
    if time.time() - modified > USED_SECONDS:
        with contextlib.suppress(OSError):  # a read-only cache, or evicted meanwhile
            os.utime(path)


def note_growth(layout: Layout, size: int) -> int:
    """Count ``size`` bytes as written; returns roughly how many were written since the last eviction."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | NO_WAIT
    handle = os.open(layout.growth, flags, 0o600)
    try:
        os.write(handle, b"." * _pages(size))
        return os.fstat(handle).st_size * PAGE
    finally:
        os.close(handle)


def is_due(growth: int, limit: int) -> bool:
    return growth > limit // 8


def evict(layout: Layout, limit: int) -> int:
    """Remove the least recently used files until three quarters of ``limit`` are left; returns how many went.

    Safe beside readers, writers and other evictions: a reader that has opened a file keeps it.
    """
    with contextlib.suppress(OSError):
        os.truncate(layout.growth, 0)
    files = sorted((file for store in layout.stores for file in stored(store)), key=lambda file: file.used)
    total = sum(file.size for file in files)
    goal = limit // 4 * 3
    removed = 0
    for file in files:
        if total <= goal:
            break
        with contextlib.suppress(OSError):
            os.unlink(file.path)
            removed += 1
        total -= file.size
    return removed


def stored(folder: str) -> list[StoredFile]:
    """The files of one of ``Layout.stores``; what vanishes meanwhile is left out."""
    stored_files: list[StoredFile] = []
    with contextlib.suppress(OSError), os.scandir(folder) as shards:
        for shard in shards:
            with contextlib.suppress(OSError), os.scandir(shard.path) as files:
                for file in files:
                    with contextlib.suppress(OSError):
                        facts = file.stat(follow_symlinks=False)
                        stored_files.append(StoredFile(file.path, facts.st_mtime, _pages(facts.st_size) * PAGE))
    return stored_files


def _pages(size: int) -> int:
    return (size + PAGE - 1) // PAGE
