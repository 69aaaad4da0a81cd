"""The error for what has no form in LLVM here."""

from __future__ import annotations

from typing import Any, NoReturn

from tilecore.errors import UnsupportedError
from tilecore.frontend.source import location_of_span
from tilecore.ir.build import op_name

_INSTEAD = {
    "call_extern": "write it with operations of the language; foreign functions are for targets that emit source text"
}


def refuse(node: Any) -> NoReturn:
    """Raises UnsupportedError at the user's line for a node without a form on target cpu."""
    name = op_name(node) or type(node).__name__
    raise UnsupportedError(
        f"{name} has no form on target cpu",
        location=location_of_span(getattr(node, "span", None)),
        hint=_INSTEAD.get(name),
    )
