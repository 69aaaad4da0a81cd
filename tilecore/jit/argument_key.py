"""Turns the arguments of kernel functions into keys of the kernels compiled for them.

Keys compare by value, so a list or an object that was changed between two calls gives another key."""

from __future__ import annotations

import enum
from hashlib import sha256
from typing import Any

from tilecore.compilation_cache.current import disk_cache
from tilecore.compilation_cache.key import foreign_dtype
from tilecore.compilation_cache.source.text import NotUnderstoodError
from tilecore.compilation_cache.source.values import description
from tilecore.dtypes import dtype

_EXACT = (int, str, bytes, bool, type(None))


class Unlike:
    """Stands for a value that cannot be compared with an earlier value: it equals no other key.

    It keeps the object alive, because another object could get its address."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"<not compared: {type(self.value).__name__}>"


def key_of(value: Any) -> Any:
    """``value`` in a form that a dict can be keyed by; equal forms mean equal kernels."""
    kind = type(value)
    if kind in _EXACT:
        return (kind.__name__, value)
    if kind is float or kind is complex:
        return (kind.__name__, repr(value))  # -0.0 equals 0.0, and nan not itself
    if kind is list or kind is tuple:
        return (kind.__name__, *map(key_of, value))
    if kind is dict:
        return ("dict", *((key_of(k), key_of(v)) for k, v in value.items()))
    if kind is set or kind is frozenset:
        return (kind.__name__, *map(key_of, value))  # in its own order, which the function can see
    if kind is dtype or foreign_dtype(value) is not None or isinstance(value, enum.Enum):
        return (kind.__module__, kind.__qualname__, value)
    try:
        return ("described", sha256(description(value, disk_cache, in_process=True)).digest())
    except (NotUnderstoodError, RecursionError):
        return Unlike(value)


def are_compared(key: Any) -> bool:
    """Whether a form of :func:`key_of`, or a tuple of them, holds values that were compared only."""
    if isinstance(key, tuple):
        return all(map(are_compared, key))
    return not isinstance(key, Unlike)
