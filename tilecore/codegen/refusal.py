"""The error for what has no form in a target's source."""

from __future__ import annotations

from typing import Any, NoReturn

from tilecore.errors import UnsupportedError
from tilecore.frontend.source import location_of_span
from tilecore.ir.build import op_name


def refuse(node: Any, kind: str, hint: str | None = None, what: str | None = None) -> NoReturn:
    """Raises UnsupportedError at the user's line: ``what`` (else the node's name) has no form on target ``kind``."""
    name = what or op_name(node) or type(node).__name__
    raise UnsupportedError(
        f"{name} has no form on target {kind}", location=location_of_span(getattr(node, "span", None)), hint=hint
    )
