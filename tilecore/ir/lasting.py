"""The part of a condition that still holds while the code under it runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, conjuncts, dtype_of, op_name
from tilecore.ir.intrinsics import ADDRESS
from tilecore.ir.nodes import BufferStore, Call, Evaluate, Expr, IfThenElse, Stmt, TensorLoad, Var
from tilecore.ir.scopes import is_global
from tilecore.ir.visit import collect, variables


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
    written = {roots.get(buffer, buffer) for buffer in _written(body)}
    kept = [conjunct for conjunct in conjuncts(condition) if not _reads(conjunct, written, roots)]
    return all_of(kept) if kept else None


def _written(body: Stmt) -> set[Var]:
    """The buffers that it may write: those of stores, and all that stand in calls with effects."""
    buffers = {store.buffer for store in collect(body, BufferStore)}
    calls = [call for call in collect(body, Call) if op_name(call) in ("tile.atomic_element", ADDRESS)]
    for call in [*(node.value for node in collect(body, Evaluate)), *calls]:
        buffers |= variables(call) | {load.source for load in collect(call, TensorLoad)}
    return buffers


def _reads(conjunct: Expr, written: set[Var], roots: Mapping[Var, Var]) -> bool:
    for load in collect(conjunct, TensorLoad):
        source = roots.get(load.source, load.source)
        if source in written:
            return True
        if is_global(source) and any(_may_alias(source, other) for other in written):
            return True
    return False


def _may_alias(one: Var, other: Var) -> bool:
    return hasattr(other, "shape") and is_global(other) and dtype_of(one) == dtype_of(other)
