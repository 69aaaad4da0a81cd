"""Finds the source location of a kernel, for the cache keys of kernels whose errors name lines."""

from __future__ import annotations

from typing import Any

from tilecore.ir.nodes import Stmt
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import collect


def places_of(func: Any) -> tuple[str, ...]:
    """File and line of each statement of tile IR, in order; each once."""
    locations = (location_of_span(statement.span) for statement in collect(func.body, Stmt))
    return tuple(dict.fromkeys(f"{at.file}:{at.line}" for at in locations if at is not None))
