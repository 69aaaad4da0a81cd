"""Runs in a worker process: reads calls from standard input and writes the results to standard output.

A message is 8 bytes of length, little-endian, and a pickle. Whatever the called code prints goes to standard error.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

from tilecore.errors import TilecoreError, ToolchainError

_HEADER = 8


@dataclass(frozen=True)
class Surroundings:
    """What a call may depend on beside its arguments, as it is in the calling process."""

    environment: dict[str, str]
    directory: str
    path: list[str]

    @staticmethod
    def current() -> Surroundings:
        try:
            directory = os.getcwd()
        except OSError:  # it has been removed
            directory = ""
        return Surroundings(dict(os.environ), directory, list(sys.path))

    def adopt(self) -> None:
        """Make this process's the same."""
        if dict(os.environ) != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)
        if self.directory:
            with contextlib.suppress(OSError):
                os.chdir(self.directory)
        sys.path[:] = self.path


def read_message(stream: BinaryIO) -> bytes | None:
    """The next message; None when the other end is gone."""
    header = stream.read(_HEADER)
    if len(header) < _HEADER:
        return None
    size = int.from_bytes(header, "little")
    data = stream.read(size)
    return data if len(data) == size else None


def write_message(stream: BinaryIO, data: bytes) -> None:
    stream.write(len(data).to_bytes(_HEADER, "little"))
    stream.write(data)
    stream.flush()


def main() -> None:
    """Answer until the calling process closes the pipe or dies."""
    calls, answers = _take_pipes()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the calling process's to handle
    while (message := read_message(calls)) is not None:
        write_message(answers, _answer(message))
    sys.stderr.flush()
    os._exit(0)  # nothing of the libraries' tidying up is needed, and some of it takes long


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes; afterwards descriptor 0 is empty and what is written to 1 goes where 2 goes."""
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # the calling process has no standard error
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    return calls, answers


def _answer(message: bytes) -> bytes:
    """(True, result), or (False, exception, its traceback as text)."""
    try:
        # the place first: unpickling the rest imports the called function's module
        place, rest = pickle.loads(message)
        place.adopt()
        function, args = pickle.loads(rest)
        return pickle.dumps((True, function(*args)), pickle.HIGHEST_PROTOCOL)
    except BaseException as error:
        return _failure(error)


def _failure(error: BaseException) -> bytes:
    trace = "" if isinstance(error, TilecoreError) else traceback.format_exc()
    try:
        data = pickle.dumps((False, error, trace), pickle.HIGHEST_PROTOCOL)
        pickle.loads(data)  # some exceptions can be pickled but not read again
        return data
    except Exception:
        plain = ToolchainError(f"{type(error).__name__}: {error}")
        return pickle.dumps((False, plain, trace), pickle.HIGHEST_PROTOCOL)


def encode_call(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """The message of one call; raises what pickle raises when an argument cannot be sent."""
    rest = pickle.dumps((function, args), pickle.HIGHEST_PROTOCOL)
    return pickle.dumps((Surroundings.current(), rest), pickle.HIGHEST_PROTOCOL)
