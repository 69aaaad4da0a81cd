"""Checks the files and folders that a command is told to write, before the work begins whose result goes there."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from tilecore.errors import ArgumentError
from tilecore.whole_files import file_path


def checked_file(path: str | Path, option: str) -> Path:
    """The path of a file that ``option`` names; an ArgumentError where no file can be written there. Folders that are
    missing are made when it is written, but not those behind a link."""
    try:
        file = file_path(path)
    except FileNotFoundError:
        raise ArgumentError(f"{option} is empty", expected="the path of a file") from None
    except IsADirectoryError:
        raise ArgumentError(f"{option} names the folder {path}", expected="the path of a file") from None
    if file.is_dir():
        raise ArgumentError(f"{option} names the folder {file}", expected="the path of a file")
    is_dangling = file.is_symlink() and not file.exists()
    target = Path(os.path.realpath(file)) if is_dangling else file
    if is_dangling and target.is_symlink():
        raise ArgumentError(f"{option} names a loop of symbolic links", found=str(file), expected="the path of a file")
    if file.is_block_device() or file.is_socket():
        raise ArgumentError(
            f"{option} names a {'disk' if file.is_block_device() else 'socket'}, which is not written to",
            found=str(file),
            expected="the path of a file, a pipe or a character device",
        )
    if is_dangling and not target.parent.is_dir():
        raise ArgumentError(
            f"{option} names a link to a file in a folder that does not exist",
            found=f"{file}, a link to {target}",
            expected="a link into an existing folder",
            hint=f"mkdir -p {target.parent}",
        )
    existing = _existing(target)
    if existing != target.absolute() and not existing.is_dir():
        raise ArgumentError(
            f"{option} names a file in a folder that cannot be made",
            found=_what_is_there(existing),
            expected="the path of a file",
        )
    if not os.access(existing, os.W_OK):
        if existing == target.absolute():
            raise _protected(existing, option)
        raise ArgumentError(f"{file} cannot be written", expected=f"{option} in a folder that you may write")
    return file


def checked_folder(path: str | Path, option: str) -> Path:
    """The path of a folder that ``option`` names, which may have to be created; an ArgumentError where it cannot be."""
    folder = Path(path)
    existing = _existing(folder)
    if not existing.is_dir():
        raise ArgumentError(
            f"{option} names a folder that cannot be created",
            found=_what_is_there(existing),
            expected="the path of a folder",
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ArgumentError(f"{folder} cannot be written", expected=f"{option} in a folder that you may write")
    return folder


def _protected(file: Path, option: str) -> ArgumentError:
    """The error of a file that the user may not write. It is not replaced, though its folder may allow that."""
    facts = file.stat()
    is_own = hasattr(os, "geteuid") and facts.st_uid == os.geteuid()
    return ArgumentError(
        f"{option} names a file that you may not write",
        found=f"{file}, whose mode is {stat.S_IMODE(facts.st_mode):03o}",
        expected="a file that you may write, or a path where there is none yet",
        hint=f"chmod u+w {shlex.quote(str(file))}" if is_own else None,
    )


def _existing(path: Path) -> Path:
    """The path itself where something is there, else the nearest folder above it, as an absolute path."""
    whole = path.absolute()
    return next(place for place in (whole, *whole.parents) if os.path.lexists(place))


def _what_is_there(existing: Path) -> str:
    """What stands where a folder is expected."""
    return f"{existing} is {'a file' if existing.exists() else 'a link to nothing'}"
