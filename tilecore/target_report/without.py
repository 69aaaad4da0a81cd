"""Removes the statements at one location from a kernel, so that the refusals behind them can be found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.ir.build import const, dtype_of, is_nothing, nothing
from tilecore.ir.nodes import (
    AttrStmt,
    Bind,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    PrimFunc,
    Stmt,
    structural_map,
)
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import tile_op_of
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import is_axis

if TYPE_CHECKING:
    from tilecore.errors import Location


def without_statement(func: PrimFunc, place: Location) -> PrimFunc | None:
    """The function without the statements at ``place``; None where nothing there can be removed.

    A bound value becomes 0; stores, operations and parallel loops are removed; a region of threads is replaced by its
    body. Allocations and other loops stay, because their bodies would be removed with them.
    """
    changed = False

    def remove(node: Stmt) -> Any:
        nonlocal changed
        if isinstance(node, For) and is_nothing(node.body) and node.kind == ForKind.PARALLEL:
            return nothing()
        if not _is_at(node, place):
            return node
        remainder = _remainder(node)
        changed = changed or remainder is not node
        return remainder

    kinds = (Evaluate, BufferStore, Bind, For, AttrStmt)
    body = structural_map(func.body, [(kind, remove) for kind in kinds])
    return func.with_body(body, func.span) if changed else None


def _is_at(node: Stmt, place: Location) -> bool:
    at = location_of_span(node.span)
    if at is None or at.file != place.file or at.line != place.line:
        return False
    return at.column <= place.column and (at.end_line != at.line or place.column < (at.end_column or 0))


def _remainder(node: Stmt) -> Stmt:
    if isinstance(node, Bind):
        return Bind(node.var, const(0, dtype_of(node.var)), span=node.span)
    if isinstance(node, AttrStmt):
        return node if is_axis(node) else node.body
    if isinstance(node, For):
        holds = any(tile_op_of(inner) is not None for inner in collect(node.body, Evaluate))
        return node if holds or node.kind != ForKind.PARALLEL else nothing()
    return nothing()
