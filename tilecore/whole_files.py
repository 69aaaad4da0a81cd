"""Writes files that users name: a file holds all of the new data or what it held before, whenever the process ends.

Folders of the path that are missing are made. A symbolic link stays, and the file that it names is replaced; folders
that are missing behind a link are not made. Pipes, devices and the standard streams are written in place.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import Any

from tilecore.errors import ArgumentError

STANDARD_OUTPUTS = (1, 2)  # descriptors of the standard output and of the standard error


def file_path(path: str | os.PathLike[str]) -> Path:
    """The path of a file to write. Raises IsADirectoryError where the text is that of a folder, ``"kernels/"``, whether
    there is one or not (a Path does not have the separator at the end), and FileNotFoundError where it is empty."""
    text = os.fspath(path)
    if not text:
        raise FileNotFoundError(errno.ENOENT, "the path is empty")
    if os.path.basename(text) in ("", os.curdir, os.pardir):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), text)
    return Path(text)


def path_text(path: Any, argument: str) -> str:
    """The text of a path. argument: what the path was given as, for the ArgumentError of what is no path, or empty."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        found = " ".join(repr(path).split())[:80]
        raise ArgumentError(f"{argument} is no path", found=found, expected="a str or a pathlib.Path") from None
    if not text:
        raise ArgumentError(f"{argument} is empty", expected="the path of a file")
    return text


def write_whole(path: Path, text: str) -> None:
    """Write a text as UTF-8. Raises OSError where its folder cannot be made or written."""
    write_whole_bytes(path, text.encode("utf-8"))


def write_whole_bytes(path: Path, data: bytes) -> None:
    """Write the data. Raises OSError where its folder cannot be made or written."""
    if not can_be_replaced(path):
        _write_in_place(path, data)
        return
    if not os.path.lexists(path.parent):  # of a file in its place, the write says that it is no folder
        path.parent.mkdir(parents=True, exist_ok=True)
    target = Path(os.path.realpath(path))
    staged = target.with_name(f".{target.name}.{os.urandom(8).hex()}")
    try:
        staged.write_bytes(data)
        os.replace(staged, target)
    except PermissionError:  # of the folder; the file itself may still be writable
        if not target.exists():
            raise
        _write_in_place(target, data)
    finally:
        if staged.exists():
            staged.unlink()


def can_be_replaced(path: Path) -> bool:
    """Whether the path names a regular file, or nothing yet, so that a new file can take its place.

    A name of an open descriptor, such as /dev/stdout, cannot be replaced: the shell would go on to write to the old
    file. Raises OSError for a loop of links.
    """
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    is_descriptor = _standard_output(status) is not None or os.path.realpath(path.parent).startswith("/proc/")
    return stat.S_ISREG(status.st_mode) and not is_descriptor


def _write_in_place(path: Path, data: bytes) -> None:
    """Write to what is there. Opening a named pipe waits for its reader."""
    descriptor = _standard_output(os.stat(path))
    if descriptor is None:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
    else:  # a second descriptor would write over what this process has printed
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        descriptor = os.dup(descriptor)
    with open(descriptor, "wb") as file:
        file.write(data)


def _standard_output(status: os.stat_result) -> int | None:
    """The descriptor of the standard stream that writes to the file of this status; None for other files."""
    for descriptor in STANDARD_OUTPUTS:
        try:
            if os.path.samestat(status, os.fstat(descriptor)):
                return descriptor
        except OSError:  # it is closed
            continue
    return None
