"""The bodies of a function's kernels."""

from __future__ import annotations

from collections.abc import Callable

from tilecore.ir.build import seq, statements_of
from tilecore.ir.nodes import AttrStmt, IterVar, Stmt


def map_bodies(body: Stmt, change: Callable[[AttrStmt], AttrStmt]) -> Stmt:
    """Every kernel, with the axes of its grid around it, replaced by what ``change`` makes of it."""
    return seq([change(s) if is_axis(s) else s for s in statements_of(body)])


def is_axis(node: object) -> bool:
    return isinstance(node, AttrStmt) and node.attr_key == "thread_extent" and isinstance(node.node, IterVar)


def with_first(kernel: AttrStmt, statements: list[Stmt]) -> AttrStmt:
    """The kernel with statements at its beginning."""
    inner = with_first(kernel.body, statements) if is_axis(kernel.body) else seq([*statements, kernel.body])
    return AttrStmt(kernel.node, kernel.attr_key, kernel.value, inner, span=kernel.span)
