"""Conditions of a kernel, and selection by conditions."""

from __future__ import annotations

from typing import Any

from tilecore.errors import WrongTypeError
from tilecore.ir.nodes import Expr, tirx
from tilecore.language.conversions import unify
from tilecore.language.values import as_expr
from tilecore.tracing.current import active


def as_condition(value: Any) -> Expr:
    """``value`` as a bool expression: numbers are compared with 0."""
    expression = as_expr(value)
    if str(expression.ty.dtype) == "bool":
        return expression
    return as_expr(expression != tirx.const(0, str(expression.ty.dtype)))


def as_predicate(value: Any, subject: str) -> Expr:
    """The condition of an operation on all threads: an integer or a bool. Raises WrongTypeError for floats."""
    expression = as_expr(value)
    if str(expression.ty.dtype)[:3] not in ("boo", "int", "uin"):
        raise WrongTypeError(
            f"{subject} requires an integer or boolean predicate",
            found=f"{expression}, a {expression.ty.dtype}",
            hint="compare it with a number: x != 0.0",
        )
    return as_condition(expression)


def select(test: Any, then: Any, orelse: Any) -> Expr:
    """``then if test else orelse`` with both sides in one element type; only the chosen side is evaluated."""
    left, right = (_conditional_operand(side) for side in unify(then, orelse))
    return _held_value(tirx.if_then_else(as_condition(test), left, right))


def logical_and(a: Any, b: Any) -> Expr:
    return _held_value(tirx.And(as_condition(a), _conditional_operand(as_condition(b))))


def logical_or(a: Any, b: Any) -> Expr:
    return _held_value(tirx.Or(as_condition(a), _conditional_operand(as_condition(b))))


def logical_not(a: Any) -> Expr:
    return tirx.Not(as_condition(a))


def _held_value(value: Expr) -> Expr:
    """The value that ``value`` has now. Outside of kernels, in the index map of a layout, nothing reads memory."""
    builder = active()
    return value if builder is None else builder.hold(value)


def _conditional_operand(value: Expr) -> Expr:
    """An operand that is evaluated conditionally: its loads are executed only then."""
    builder = active()
    return value if builder is None else builder.conditional_operand(value)
