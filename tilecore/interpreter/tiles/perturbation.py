"""Perturbs sums of floats by errors, to find how far the results of two orders of the additions may be apart.

The interpreter adds floats in float64 and rounds once. A device rounds every partial sum, in an order of additions that
it chooses; each partial sum is at most the sum of the absolute values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Error = Callable[[Any], Any]  # the errors of sums, given the sums of the absolute values

_error: ContextVar[Error | None] = ContextVar("error of sums", default=None)


@contextmanager
def perturbed_sums(error: Error) -> Iterator[None]:
    """In this context ``error(sums of absolute values)`` is added to sums of several floats."""
    token = _error.set(error)
    try:
        yield
    finally:
        _error.reset(token)


def perturbed(sums: Any, absolute: Callable[[], Any]) -> Any:
    """``sums`` plus the errors of :func:`perturbed_sums`. absolute: returns the sums of the absolute values."""
    error = _error.get()
    return sums if error is None else sums + error(absolute())
