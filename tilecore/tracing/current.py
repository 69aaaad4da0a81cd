"""The builder of the function that runs now: one is active per thread while a function builds its IR."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from tilecore.caller import place_of_caller
from tilecore.errors import LanguageError, UnsupportedError

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder

_active = threading.local()


def active() -> Builder | None:
    """The active builder of this thread, or None."""
    return getattr(_active, "builder", None)


def current(subject: str = "this") -> Builder:
    """The active builder; raises a LanguageError about ``subject`` when there is none."""
    builder = active()
    if builder is None:
        raise LanguageError(
            f"{subject} is used outside a kernel",
            expected="a call inside a function decorated with @T.prim_func, @T.macro or @tilecore.jit",
        ).at(place_of_caller())
    return builder


@contextmanager
def building(builder: Builder) -> Iterator[Builder]:
    """Make ``builder`` the active one of this thread; errors of the language inside get its place."""
    with _activated(builder):
        try:
            yield builder
        except (LanguageError, UnsupportedError) as error:
            error.at(builder.location)
            raise


def without_builder() -> AbstractContextManager[None]:
    """In this context no builder is active, and ``==`` of variables is identity, as in passes."""
    return _activated(None)


@contextmanager
def _activated(builder: Builder | None) -> Iterator[None]:
    before = active()
    _active.builder = builder
    try:
        yield
    finally:
        _active.builder = before
