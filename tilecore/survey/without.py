"""A kernel without the statements of one place: what a target refuses is left out, to find what else it refuses."""

from __future__ import annotations

from typing import Any

from tilecore.errors import Location
from tilecore.ir.build import const, dtype_of, is_nothing, nothing
from tilecore.ir.nodes import (
    AttrStmt,
    Bind,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    PrimFunc,
    SeqStmt,
    Stmt,
    structural_map,
)
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import tile_op_of
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import is_axis


def without(func: PrimFunc, place: Location) -> PrimFunc | None:
    """The function without what stands at ``place``; None where nothing there can be left out.

    A value becomes 0, a store or an operation nothing, a parallel loop goes as a whole, a region of threads becomes its
    code. Allocations and other loops stay: what they hold would be lost.
    """
    changed = False

    def leave_out(node: Stmt) -> Any:
        nonlocal changed
        if isinstance(node, For) and is_nothing(node.body) and node.kind == ForKind.PARALLEL:
            return nothing()
        if not _is_at(node, place):
            return node
        made = _rest_of(node)
        changed = changed or made is not node
        return made

    kinds = (Evaluate, BufferStore, Bind, For, AttrStmt)
    body = structural_map(func.body, [(kind, leave_out) for kind in kinds])
    return func.with_body(body, func.span) if changed else None


def _is_at(node: Stmt, place: Location) -> bool:
    known = location_of_span(node.span)
    if known is None or known.file != place.file or known.line != place.line:
        return False
    return known.column <= place.column and (known.end_line != known.line or place.column < (known.end_column or 0))


def _rest_of(node: Stmt) -> Stmt:
    if isinstance(node, Bind):
        return Bind(node.var, const(0, dtype_of(node.var)), span=node.span)
    if isinstance(node, AttrStmt):
        return node if is_axis(node) else node.body
    if isinstance(node, For):
        holds = any(tile_op_of(inner) is not None for inner in collect(node.body, Evaluate))
        return node if holds or node.kind != ForKind.PARALLEL else nothing()
    return nothing()


def is_empty(body: Stmt) -> bool:
    """Is nothing left to do?"""
    return all(is_nothing(part) for part in (body.seq if isinstance(body, SeqStmt) else [body]))
