"""States the range of a variable in the IR by an attribute, and tells an analyzer the ranges of loop variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import const, dtype_of, nothing
from tilecore.ir.nodes import AttrStmt, For, IterVar, Range, Var

if TYPE_CHECKING:
    from tilecore.ir.analyzer import Analyzer


def within(var: Var, extent: Any) -> AttrStmt:
    """A statement after which ``var`` may be assumed to be in [0, extent)."""
    domain = Range.from_min_extent(const(0, dtype_of(var)), extent)
    return AttrStmt(IterVar(domain, var, IterVar.DataPar, ""), StatementAttr.RANGE, extent, nothing())


def known_range(node: AttrStmt) -> tuple[Var, Range] | None:
    """The variable and its range, if ``node`` was created by :func:`within` or ``for_threads``; else None."""
    return (node.node.var, node.node.dom) if node.attr_key in (StatementAttr.RANGE, StatementAttr.THREADS) else None


def binding_loops(analyzer: Analyzer) -> Callable[[For, Any], Any]:
    """A rule of ``structural_mutate`` for For, by which ``analyzer`` knows the range of the variable inside a loop."""

    def loop(node: For, mutator: Any) -> Any:
        analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent))
        return mutator.default_mutate(node)

    return loop
