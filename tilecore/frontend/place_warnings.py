"""Warnings about a place in the user's kernel, given while it is built."""

from __future__ import annotations

import warnings

from tilecore.ir.spans import location_of_span


def warn_at(span: object | None, text: str, category: type[Warning]) -> None:
    """A warning whose text begins with the line of the kernel that it is about, where that is known."""
    place = location_of_span(span)
    warnings.warn(text if place is None else f"{place}: {text}", category, stacklevel=3)
