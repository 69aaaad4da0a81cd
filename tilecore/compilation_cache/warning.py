"""Defines the warnings of the cache: each says why the cache was not used and what to set; none stops a compilation."""

from __future__ import annotations

import warnings


class CacheWarning(UserWarning):
    """The kernel cache on disk could not be used as asked; kernels still compile and run."""


def warn(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=3)


class WarnOnce:
    """Gives the first warning of each topic and keeps quiet about the rest."""

    def __init__(self) -> None:
        self._given: dict[str, object] = {}

    def __call__(self, topic: str, message: str) -> None:
        mine = object()
        if self._given.setdefault(topic, mine) is mine:  # one step, so threads agree on who is first
            warnings.warn(message, CacheWarning, stacklevel=3)
