"""Keeps the cache under its size limit: evicts the least recently used entries first.

A hit sets an entry's modification time (at most once an hour), so the oldest time is the least recently used.
Looking at every file is for rare occasions: writers append one byte per page written to the file ``growth``, which
all processes share, and only when an eighth of the limit has been written is the cache gone through.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from dataclasses import dataclass

from tilecore.compilation_cache.layout import NO_WAIT, Layout

PAGE = 4096
USED_SECONDS = 3600.0
LONGEST_WAIT = 86400.0  # seconds between two searches for old files, or an eighth of the age


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
    try:
        handle = os.open(layout.growth, flags, 0o600)
        try:
            os.write(handle, b"." * _pages(size))
            return os.fstat(handle).st_size * PAGE
        finally:
            os.close(handle)
    except OSError:  # removed by another host meanwhile, or the disk is full: what was published is there
        return 0


def is_due(growth: int, limit: int) -> bool:
    return growth > limit // 8


def is_due_by_age(layout: Layout, age: float) -> bool:
    """Whether it is time to look for files that are older than ``age`` seconds; if so, the next time is later."""
    try:
        if time.time() - os.stat(layout.searched).st_mtime < min(age / 8, LONGEST_WAIT):
            return False
    except OSError:
        pass  # never searched
    with contextlib.suppress(OSError):
        handle = os.open(layout.searched, os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | NO_WAIT, 0o600)
        os.close(handle)
        os.utime(layout.searched)
    return True


def evict(layout: Layout, limit: int, age: float | None = None) -> int:
    """Remove files that were last used more than ``age`` seconds ago, and of a cache with more than three quarters of
    ``limit`` bytes the least recently used ones; returns how many went."""
    with contextlib.suppress(OSError):
        os.truncate(layout.growth, 0)
    return collect(layout, limit // 4 * 3, age).files


@dataclass(frozen=True)
class Removed:
    """What was removed, and what is left: numbers of files, and bytes on disk."""

    files: int
    bytes: int
    files_left: int
    bytes_left: int


def collect(layout: Layout, most_bytes: int | None, age: float | None) -> Removed:
    """Remove files that were last used more than ``age`` seconds ago, then the least recently used ones until
    ``most_bytes`` are left; None: no such limit.

    Safe beside readers, writers and other evictions: a reader that has opened a file keeps it. On a network file system
    a reader on another host may lose it, which it takes for a missing file.
    """
    files = sorted((file for store in layout.stores for file in stored(store)), key=lambda file: file.used)
    total = sum(file.size for file in files)
    oldest = -math.inf if age is None else time.time() - age
    goal = math.inf if most_bytes is None else most_bytes
    removed = removed_bytes = left = 0
    for number, file in enumerate(files):
        if total <= goal and file.used >= oldest:
            left = len(files) - number
            break
        try:
            os.unlink(file.path)
            removed += 1
            removed_bytes += file.size
        except FileNotFoundError:
            pass  # somebody else has removed it
        except OSError:
            continue
        total -= file.size
    return Removed(removed, removed_bytes, left, total)


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
