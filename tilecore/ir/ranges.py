"""What is known of a variable beside its value: a statement that says in which range it lies."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import const, dtype_of, nothing
from tilecore.ir.nodes import AttrStmt, IterVar, Range, Var

_KEY = "tile.range"


def within(var: Var, extent: Any) -> AttrStmt:
    """From here on ``var`` is known to be in [0, extent)."""
    domain = Range.from_min_extent(const(0, dtype_of(var)), extent)
    return AttrStmt(IterVar(domain, var, IterVar.DataPar, ""), _KEY, extent, nothing())


def known_range(node: AttrStmt) -> tuple[Var, Range] | None:
    """The variable and its range, if ``node`` is what :func:`within` makes."""
    return (node.node.var, node.node.dom) if node.attr_key == _KEY else None
