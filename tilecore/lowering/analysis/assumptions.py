"""Collects the divisors of sizes that T.assume states, and proves with them that an expression is a multiple."""

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
    """The divisor of each size and scalar parameter that an assumption ``size % divisor == 0`` names.

    Assumptions inside an ``if`` or a ``while`` do not count, because they need not hold elsewhere.
    """
    sizes = set(symbols_in(func.params)) | set(func.params)
    divisors: dict[Var, int] = {}
    _gather_divisors(func.body, sizes, divisors)
    return divisors


def is_multiple(value: Expr, number: int, divisors: Mapping[Var, int], analyzer: Analyzer | None = None) -> bool:
    """Can ``value`` be proved to be a multiple of ``number``, when each variable is a multiple of its divisor?"""
    multiples = {var: var * IntImm(dtype_of(var), divisor) for var, divisor in divisors.items()}
    scaled: Any = substitute(value, multiples)
    return constant((analyzer or Analyzer()).simplify(scaled % IntImm(dtype_of(scaled), number))) == 0


def _gather_divisors(node: Stmt, sizes: set[Var], divisors: dict[Var, int]) -> None:
    if isinstance(node, Evaluate) and op_name(node.value) == ASSUME:
        for condition in conjuncts(node.value.args[0]):
            divisibility = _divisibility(condition, sizes)
            if divisibility is not None:
                var, divisor = divisibility
                divisors[var] = lcm(divisors.get(var, 1), divisor)
    if not isinstance(node, (IfThenElse, While)):
        for child in children(node):
            _gather_divisors(child, sizes, divisors)


def _divisibility(condition: Expr, sizes: set[Var]) -> tuple[Var, int] | None:
    """The size and the divisor of a condition ``size % divisor == 0``; None for another condition."""
    if not (isinstance(condition, EQ) and isinstance(condition.a, FloorMod) and constant(condition.b) == 0):
        return None
    size, divisor = condition.a.a, constant(condition.a.b)
    return (size, divisor) if size in sizes and divisor is not None and divisor > 0 else None
