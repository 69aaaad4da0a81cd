"""Perturbs sums of floats by errors, to find how far the results of two orders of the additions may be apart.

The interpreter adds floats in float64 and rounds once. A device rounds every partial sum, in an order of additions that
it chooses; each partial sum is at most the sum of the absolute values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Error = Callable[[Any, str], Any]  # the errors of sums, from the sums of the absolute values and the type of the sums

_error: ContextVar[Error | None] = ContextVar("error of sums", default=None)


@contextmanager
def perturbed_sums(error: Error) -> Iterator[None]:
    """In this context ``error(sums of absolute values, dtype of the sums)`` is added to sums of several floats."""
    token = _error.set(error)
    try:
        yield
    finally:
        _error.reset(token)


def perturbed(sums: Any, absolute: Callable[[], Any], dtype: str = "float32") -> Any:
    """``sums`` plus the errors of :func:`perturbed_sums`.

    absolute: returns the sums of the absolute values. dtype: the type in which a device may keep the partial sums.
    """
    error = _error.get()
    return sums if error is None else sums + error(absolute(), dtype)
