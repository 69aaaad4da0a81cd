"""Sums as some other order of the same additions may give them, for those who ask how far results may be apart.

The interpreter adds floats in float64 and rounds once. A device rounds every partial sum, and which partial sums there
are is its own business; each is at most the sum of the absolute values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Error = Callable[[Any], Any]  # of sums, by the sums of the absolute values

_error: ContextVar[Error | None] = ContextVar("error of sums", default=None)


@contextmanager
def with_errors(error: Error) -> Iterator[None]:
    """Inside of it, ``error(sums of absolute values)`` is added to sums of several floats."""
    token = _error.set(error)
    try:
        yield
    finally:
        _error.reset(token)


def moved(sums: Any, absolute: Callable[[], Any]) -> Any:
    """``sums`` with their error. absolute: gives the sums of the absolute values."""
    error = _error.get()
    return sums if error is None else sums + error(absolute())
