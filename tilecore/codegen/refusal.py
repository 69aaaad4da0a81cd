"""Raises the error for an operation that cannot be expressed in the source of a target."""

from __future__ import annotations

from typing import Any, NoReturn

from tilecore.dtypes import FACTS
from tilecore.errors import UnsupportedError
from tilecore.ir.spans import location_of_span

_LONGEST = 100  # characters of the node's text


def refuse(node: Any, kind: str, hint: str | None = None, what: str | None = None) -> NoReturn:
    """Raises UnsupportedError at the user's line: ``what`` (else the node's name) has no form on target ``kind``."""
    from tilecore.ir.build import op_name  # late: few kernels are refused

    text = " ".join(str(node).split())
    raise UnsupportedError(
        f"{what or op_name(node) or type(node).__name__} has no form on target {kind}",
        location=location_of_span(getattr(node, "span", None)),
        found=text if len(text) <= _LONGEST else text[:_LONGEST] + "...",
        expected="operations, of element types, that the target's code generator knows",
        hint=hint or _in_another_type(node),
    )


def _in_another_type(node: Any) -> str | None:
    """An operation may exist for a type that values can be cast to."""
    operand = getattr(node, "a", None)
    dtype = str(getattr(getattr(node if operand is None else operand, "ty", None), "dtype", ""))
    if dtype not in FACTS:
        return None
    other = "float32" if FACTS[dtype].kind == "float" else "int32"
    return None if dtype == other else f'compute it in {other}: T.cast(value, "{other}")'
