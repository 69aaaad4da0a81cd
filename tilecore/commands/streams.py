"""Keeps the standard streams usable where the caller has closed them, or where the reader of the output has gone."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

READER_GONE = 141  # the exit code that a shell reports for a process that SIGPIPE ended


def open_closed_streams() -> None:
    """Open the standard streams that the caller has closed, so that no other file gets their descriptors.

    The input is empty then, errors are dropped, and the output is a pipe without a reader.
    """
    if sys.stdin is None and _is_closed(0):
        _move(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin = os.fdopen(0)
    if sys.stdout is None and _is_closed(1):
        reading_end, writing_end = os.pipe()
        _move(writing_end, 1)
        if reading_end != 1:  # else the move has closed it
            os.close(reading_end)
        sys.stdout = os.fdopen(1, "w")
    if sys.stderr is None and _is_closed(2):
        _move(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = os.fdopen(2, "w")


@contextlib.contextmanager
def prints_beside(is_json: bool) -> Iterator[None]:
    """Inside of it the user's code runs: where the output is JSON, what it prints goes to the errors."""
    with contextlib.redirect_stdout(sys.stderr) if is_json else contextlib.nullcontext():
        yield


def drop_output() -> None:
    """Drop the output that cannot be written, as its reader has gone or the disk is full: else the end of the process
    reports it again."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _move(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_closed(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return True
    return False


def _move(source: int, descriptor: int) -> None:
    """Give an open file the descriptor, which programs that this one starts inherit."""
    if source == descriptor:
        os.set_inheritable(descriptor, True)
        return
    os.dup2(source, descriptor)
    os.close(source)
