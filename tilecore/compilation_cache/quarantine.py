"""Quarantines damaged files, a bounded number of them, so that a user can inspect them."""

from __future__ import annotations

import contextlib
import os
import shutil

MOST_FILES = 16
MOST_BYTES = 64 * 2**20


def quarantine(path: str, inode: int, folder: str) -> bool:
    """Move the damaged file at ``path`` out of the way; True when it is gone from its place.

    ``inode`` is that of the file that was read: one that another process has put there since is left alone.
    """
    try:
        if os.stat(path, follow_symlinks=False).st_ino != inode:
            return True
    except FileNotFoundError:
        return True
    except OSError:  # another host of a network file system has removed it
        return False
    return set_aside(path, folder)


def set_aside(path: str, folder: str) -> bool:
    """Move what is at ``path`` out of the way, whatever it is; True when it is gone from its place."""
    name = f"{os.path.basename(os.path.dirname(path))}{os.path.basename(path)}-{os.urandom(4).hex()}"
    try:
        os.replace(path, os.path.join(folder, name))
    except OSError:  # there may be no such folder, too
        return remove(path) or not os.path.lexists(path)
    _bound(folder)
    return True


def _bound(folder: str) -> None:
    """Drop the oldest files beyond MOST_FILES files or MOST_BYTES bytes."""
    files = []
    with contextlib.suppress(OSError), os.scandir(folder) as listing:
        for file in listing:
            with contextlib.suppress(OSError):
                facts = file.stat(follow_symlinks=False)
                files.append((facts.st_ctime_ns, facts.st_size, file.path))
    total = 0
    for count, (_, size, path) in enumerate(sorted(files, reverse=True)):
        total += size
        if count >= MOST_FILES or total > MOST_BYTES:
            remove(path)


def remove(path: str) -> bool:
    """Remove a file, or a folder that stands where a file should; True when it is gone."""
    with contextlib.suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
        return True
    return False
