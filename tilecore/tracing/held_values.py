"""Holds values that are read from memory as they were when Python evaluated them.

Python reads ``A[i]`` where it stands; an expression of the IR reads it where it is used. So a read binds a variable at
once (a ``Bind``), which is used in place of the load. :mod:`tilecore.frontend.settle` moves the load back to its use
wherever nothing can have written the memory in between, which is nearly everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilecore.ir.effects import effect_in
from tilecore.ir.nodes import Bind, Expr, Stmt, TensorLoad, Var, structural_map
from tilecore.ir.visit import collect

if TYPE_CHECKING:
    from tilecore.tracing.builder import Frame


@dataclass
class Reading:
    """A value held in the variable var. value: the expression; frame: the block where it was evaluated; time: how many
    statements that may write memory had been built by then."""

    var: Var
    value: Expr
    frame: Frame
    time: int


class Readings:
    """The held values of one function. ``==`` of variables builds a comparison of the kernel, so the variables are
    distinguished by their hashes, which are their addresses."""

    def __init__(self) -> None:
        self.known: dict[int, Reading] = {}

    def __contains__(self, value: Any) -> bool:
        return isinstance(value, Var) and hash(value) in self.known

    def of(self, value: Any) -> Reading | None:
        return self.known.get(hash(value)) if isinstance(value, Var) else None

    def new(self, value: Expr, frame: Frame, time: int) -> Var:
        load = value if isinstance(value, TensorLoad) else next(iter(collect(value, TensorLoad)))
        var = Var(f"{load.source.name}_value", value.ty)
        self.known[hash(var)] = Reading(var, value, frame, time)
        return var

    def expanded(self, node: Any, when: Any = None) -> Any:
        """``node`` with the held values in place of their variables: all, or those for which ``when(reading)``."""
        while self.known:
            values: dict[int, Expr] = {}
            for var in collect(node, Var):
                reading = self.of(var)
                if reading is not None and (when is None or when(reading)):
                    values[hash(var)] = reading.value
            if not values:
                break
            node = replaced(node, values)
        return node


def replaced(node: Any, values: dict[int, Expr]) -> Any:
    """``node`` with variables, by their hashes, replaced."""
    return structural_map(node, (Var, lambda var: values.get(hash(var), var))) if values else node


def reads_memory(value: Any) -> bool:
    return isinstance(value, TensorLoad) or bool(collect(value, TensorLoad))


def without_binds(statements: list[Stmt], value: Expr) -> tuple[list[Stmt], Expr]:
    """The value with bindings that only read memory inlined, and the other statements. So an operand that is evaluated
    conditionally reads memory only then."""
    others: list[Stmt] = []
    inlined: dict[int, Expr] = {}
    for statement in statements:
        if isinstance(statement, Bind):
            inner = replaced(statement.value, inlined)
            if reads_memory(inner) and effect_in(inner) is None:
                inlined[hash(statement.var)] = inner
                continue
            statement = Bind(statement.var, inner, span=statement.span)
        others.append(statement)
    return others, replaced(value, inlined)
