"""The error for what has no form in LLVM here."""

from __future__ import annotations

from typing import Any, NoReturn

from tilecore.codegen import refusal
from tilecore.ir.build import op_name

_INSTEAD = {
    "call_extern": "write it with operations of the language; foreign functions are for targets that emit source text"
}


def refuse(node: Any) -> NoReturn:
    """Raises UnsupportedError at the user's line for a node without a form on target cpu."""
    refusal.refuse(node, "cpu", _INSTEAD.get(op_name(node)))
