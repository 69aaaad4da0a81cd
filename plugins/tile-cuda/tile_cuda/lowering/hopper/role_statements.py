"""Finds the code of the roles that specialize_warps.py has given the warps of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_cuda.attributes import CudaStatementAttr
from tilecore.ir.nodes import AttrStmt, Stmt, structural_mutate
from tilecore.ir.visit import collect


def has_roles(code: Stmt) -> bool:
    """Whether the compiler has given the warps of a kernel their roles."""
    return any(node.attr_key == CudaStatementAttr.ROLE for node in collect(code, AttrStmt))


def with_consumer(code: Stmt, change: Callable[[Stmt], Stmt]) -> Stmt:
    """The code with the consumers' part changed; the whole changed where there are no roles."""
    if not has_roles(code):
        return change(code)

    def role(node: AttrStmt, mutator: Any) -> Any:
        if node.attr_key != CudaStatementAttr.ROLE or str(node.value.value) != "consumer":
            return mutator.default_mutate(node)
        return AttrStmt(node.node, node.attr_key, node.value, change(node.body), span=node.span)

    return structural_mutate(code, [(AttrStmt, role)])
