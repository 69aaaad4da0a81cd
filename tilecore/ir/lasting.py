"""The part of a condition that still holds while the code under it runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, conjuncts, dtype_of
from tilecore.ir.nodes import Expr, IfThenElse, Stmt, TensorLoad, Var
from tilecore.ir.scopes import is_global
from tilecore.ir.visit import collect
from tilecore.ir.written_memory import reads_any, written_memory


def branch_scope(analyzer: Analyzer, node: IfThenElse, roots: Mapping[Var, Var]) -> AbstractContextManager[Any]:
    """Inside of it, the analyzer knows what the condition of ``node`` says all through its first branch."""
    kept = lasting(node.condition, node.then_case, roots)
    return nullcontext() if kept is None else analyzer.constraint_scope(kept)


def lasting(condition: Expr, body: Stmt, roots: Mapping[Var, Var]) -> Expr | None:
    """The conjuncts of ``condition`` that read no memory which ``body`` may write; None where none is left.

    roots: the buffer whose memory a view is. Tensors of one element type may be the same memory in a call.
    """
    if not collect(condition, TensorLoad):
        return condition
    written = written_memory(body, roots)
    kept = [conjunct for conjunct in conjuncts(condition) if not _reads(conjunct, written, roots)]
    return all_of(kept) if kept else None


def _reads(conjunct: Expr, written: set[Var], roots: Mapping[Var, Var]) -> bool:
    if reads_any(conjunct, written, roots):
        return True
    tensors = {roots.get(load.source, load.source) for load in collect(conjunct, TensorLoad)}
    return any(is_global(tensor) and any(_may_alias(tensor, other) for other in written) for tensor in tensors)


def _may_alias(one: Var, other: Var) -> bool:
    return hasattr(other, "shape") and is_global(other) and dtype_of(one) == dtype_of(other)
