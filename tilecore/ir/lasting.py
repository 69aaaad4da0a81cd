"""Finds the part of a condition that holds throughout the code that it guards, despite the writes of that code."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from tilecore.ir.build import all_of, conjuncts
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import Expr, IfThenElse, TensorLoad
from tilecore.ir.visit import collect

if TYPE_CHECKING:
    from tilecore.ir.analyzer import Analyzer


def branch_scope(analyzer: Analyzer, node: IfThenElse, memory: Memory) -> AbstractContextManager[Any]:
    """A scope in which the analyzer assumes the part of the condition that holds throughout the first branch."""
    return value_scope(analyzer, node.condition, node.then_case, memory)


def value_scope(analyzer: Analyzer, condition: Expr, guarded: Any, memory: Memory) -> AbstractContextManager[Any]:
    """A scope in which the analyzer assumes the part of ``condition`` that holds throughout ``guarded``.

    guarded: a statement or an expression that is executed only if the condition holds.
    """
    lasting_condition = lasting(condition, guarded, memory)
    return nullcontext() if lasting_condition is None else analyzer.constraint_scope(lasting_condition)


def lasting(condition: Expr, guarded: Any, memory: Memory) -> Expr | None:
    """The conjuncts of ``condition`` that read no memory which ``guarded`` may write; None where none is left."""
    if not collect(condition, TensorLoad):
        return condition
    writes = writes_of(guarded)
    remaining = [
        conjunct
        for conjunct in conjuncts(condition)
        if not any(memory.may_change(writes, load.source) for load in collect(conjunct, TensorLoad))
    ]
    return all_of(remaining) if remaining else None
