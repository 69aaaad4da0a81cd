"""Warnings about a place in the user's kernel."""

from __future__ import annotations

import warnings
from typing import Any

from tilecore.errors import Location

_warned: dict[Any, Any] = {}  # the registry of Python's warnings: the texts of earlier ones


def warn_at(place: Location | None, text: str, category: type[Warning]) -> None:
    """A warning at the line of the kernel that it is about, where that is known, once for each text and line."""
    if place is None:
        warnings.warn(text, category, stacklevel=3)
    else:
        warnings.warn_explicit(text, category, place.file, place.line, registry=_warned)
