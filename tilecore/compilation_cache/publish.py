"""Publishes a file: writes it whole in the staging directory, flushes it to disk, then renames it into place.

A writer holds a lock on its staging file until it is done; the kernel drops the lock when the process dies, so that
a file that can be locked belongs to nobody and is removed by whoever comes next. Nobody ever waits for a lock.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time

from tilecore.compilation_cache.layout import NO_WAIT

if sys.platform == "win32":  # files have no such locks, and age alone decides

    def _lock_or_raise(handle: int) -> None:
        raise OSError("no file can be locked")

else:
    import fcntl

    def _lock_or_raise(handle: int) -> None:
        """Raises OSError where another process has the lock, and on file systems without locks."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


_WRITE_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

# A file this young may be between its creation and its lock.
YOUNG_SECONDS = 60.0
# Where files cannot be locked, one this old is taken for abandoned.
ABANDONED_SECONDS = 3600.0


def publish(data: bytes, staging: str, path: str, *, durable: bool) -> None:
    """Make ``path`` hold ``data``, all of it or as before; raises OSError and leaves nothing half-written.

    durable: wait until the data and the name are on disk. Whoever reads must verify in either case.
    """
    staged = os.path.join(staging, f"{os.getpid()}-{os.urandom(8).hex()}")
    handle = os.open(staged, _WRITE_NEW, 0o600)
    try:
        try:
            _lock(handle)
            _write_all(handle, data)
            if durable:
                os.fsync(handle)
            if not durable or os.name == "nt":
                # a network file system may keep what is written on this host until the file is closed, and the name
                # must not be seen before the data; on Windows an open file cannot be renamed
                closing, handle = handle, -1
                os.close(closing)
            is_new_directory = _rename(staged, path)
        finally:
            if handle >= 0:
                os.close(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(staged)
        raise
    if durable:
        directory = os.path.dirname(path)
        _flush_directory(directory)
        if is_new_directory:
            _flush_directory(os.path.dirname(directory))


def remove_abandoned(staging: str, young: float = YOUNG_SECONDS) -> int:
    """Remove staging files whose writers are dead; returns how many. Files younger than ``young`` seconds are left."""
    removed = 0
    now = time.time()
    with contextlib.suppress(OSError), os.scandir(staging) as files:
        for file in files:
            with contextlib.suppress(OSError):
                age = now - file.stat(follow_symlinks=False).st_mtime
                if age >= young and _is_abandoned(file.path, age):
                    os.unlink(file.path)
                    removed += 1
    return removed


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _rename(staged: str, path: str) -> bool:
    """Move the file to its path; True if its directory was created for it."""
    try:
        os.replace(staged, path)
        return False
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.replace(staged, path)
        return True


def _flush_directory(path: str) -> None:
    # Where directories cannot be opened or flushed the rename is still atomic, only not yet durable.
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _lock(handle: int) -> None:
    # a file system without locks: age decides
    with contextlib.suppress(OSError):
        _lock_or_raise(handle)


def _is_abandoned(path: str, age: float) -> bool:
    if age >= ABANDONED_SECONDS:
        return True
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | NO_WAIT)
    try:
        _lock_or_raise(handle)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
