"""What T.assume promises of the sizes of a call: which numbers divide them."""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm
from typing import Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import conjuncts, constant, dtype_of, op_name
from tilecore.ir.nodes import (
    EQ,
    Evaluate,
    Expr,
    FloorMod,
    IfThenElse,
    IntImm,
    PrimFunc,
    Stmt,
    Var,
    While,
)
from tilecore.ir.sizes import symbols_in
from tilecore.ir.thread_calls import ASSUME
from tilecore.ir.visit import children, substitute


def assumed_divisors(func: PrimFunc) -> dict[Var, int]:
    """For sizes and scalars of the call the number that divides them, by what ``size % number == 0`` states outside of
    conditions of the function's own."""
    sizes = set(symbols_in(func.params)) | set(func.params)
    found: dict[Var, int] = {}
    _gather(func.body, sizes, found)
    return found


def is_multiple(value: Expr, number: int, divisors: Mapping[Var, int], analyzer: Analyzer | None = None) -> bool:
    """Is ``value`` known to be a multiple of ``number``?"""
    whole = {var: var * IntImm(dtype_of(var), divisor) for var, divisor in divisors.items()}  # var: how many of them
    made: Any = substitute(value, whole)
    return constant((analyzer or Analyzer()).simplify(made % IntImm(dtype_of(made), number))) == 0


def _gather(node: Stmt, sizes: set[Var], found: dict[Var, int]) -> None:
    if isinstance(node, Evaluate) and op_name(node.value) == ASSUME:
        for condition in conjuncts(node.value.args[0]):
            divided = _divided(condition, sizes)
            if divided is not None:
                var, number = divided
                found[var] = lcm(found.get(var, 1), number)
    if not isinstance(node, (IfThenElse, While)):
        for child in children(node):
            _gather(child, sizes, found)


def _divided(condition: Expr, sizes: set[Var]) -> tuple[Var, int] | None:
    """The size and the number of ``size % number == 0``."""
    if not (isinstance(condition, EQ) and isinstance(condition.a, FloorMod) and constant(condition.b) == 0):
        return None
    size, number = condition.a.a, constant(condition.a.b)
    return (size, number) if size in sizes and number is not None and number > 0 else None
