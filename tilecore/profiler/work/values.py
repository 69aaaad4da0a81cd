"""Computes integer expressions of tile IR for known sizes: their values, ranges, and linear forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilecore.ir.build import op_name
from tilecore.ir.nodes import Bind, Call, Cast, Expr, FloatImm, IntImm, Select, TensorLoad, Var
from tilecore.ir.visit import collect

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "Div": lambda a, b: np.trunc(np.divide(a, b)).astype(np.int64),
    "Mod": np.fmod,
    "Min": np.minimum,
    "Max": np.maximum,
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "And": np.logical_and,
    "Or": np.logical_or,
}
_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}


class DataDependentError(Exception):
    """The value depends on what tensors hold, or on a scalar argument that is not known."""


@dataclass(frozen=True)
class Linear:
    """``constant + sum of coefficients[var] * var``."""

    constant: int
    coefficients: Mapping[Var, int]


@dataclass(frozen=True)
class Span:
    """The least and the largest value."""

    least: int
    largest: int


class Values:
    """Values of expressions.

    sizes: of variables that are known. definitions: of variables that are defined once, by their expressions (Bind).
    """

    def __init__(self, sizes: Mapping[Var, int], body: Any) -> None:
        self.sizes = dict(sizes)
        self.definitions = {bind.var: bind.value for bind in collect(body, Bind)}

    def variables(self, expr: Any) -> frozenset[Var]:
        """The loop variables that the value depends on, also by definitions."""
        found: set[Var] = set()
        for var in collect(expr, Var) if isinstance(expr, Expr) else ():
            if var in self.definitions:
                found |= self.variables(self.definitions[var])
            elif var not in self.sizes:
                found.add(var)
        return frozenset(found)

    def evaluate(self, expr: Any, at: Mapping[Var, Any]) -> Any:
        """The value: an int, or an array over the points where the arrays in ``at`` have the loop variables. Raises
        DataDependentError where it is not known before the kernel runs."""
        if isinstance(expr, int):
            return expr
        if isinstance(expr, IntImm):
            return int(expr.value)
        if isinstance(expr, Var):
            return self._of_variable(expr, at)
        name = type(expr).__name__
        if name in _BINARY:
            return _BINARY[name](self.evaluate(expr.a, at), self.evaluate(expr.b, at))
        if name == "Not":
            return np.logical_not(self.evaluate(expr.a, at))
        if isinstance(expr, Cast) and not isinstance(expr.value, FloatImm):
            return self.evaluate(expr.value, at)
        if isinstance(expr, Select):
            return self._choice(expr.condition, expr.true_value, expr.false_value, at)
        if isinstance(expr, Call):
            called = op_name(expr).rpartition(".")[2]
            if called == "if_then_else":
                condition, yes, no = expr.args
                return self._choice(condition, yes, no, at)
            if called in _CALLS:
                return _CALLS[called](*(self.evaluate(argument, at) for argument in expr.args))
        raise DataDependentError(str(expr))

    def known(self, expr: Any) -> int:
        """The value of an expression that depends on sizes only. Raises DataDependentError for others."""
        return int(self.evaluate(expr, {}))

    def _of_variable(self, var: Var, at: Mapping[Var, Any]) -> Any:
        if var in at:
            return at[var]
        if var in self.sizes:
            return self.sizes[var]
        if var in self.definitions:
            return self.evaluate(self.definitions[var], at)
        raise DataDependentError(str(var.name))

    def _choice(self, condition: Any, yes: Any, no: Any, at: Mapping[Var, Any]) -> Any:
        test = self.evaluate(condition, at)
        if np.ndim(test) == 0:
            return self.evaluate(yes if test else no, at)
        with np.errstate(divide="ignore", invalid="ignore"):  # of the side that is not taken
            return np.where(test, self.evaluate(yes, at), self.evaluate(no, at))

    def linear(self, expr: Any) -> Linear | None:
        """The expression as a linear form of loop variables; None for another form."""
        try:
            return Linear(self.known(expr), {})
        except (DataDependentError, ZeroDivisionError):
            pass
        if isinstance(expr, Var):
            return self.linear(self.definitions[expr]) if expr in self.definitions else Linear(0, {expr: 1})
        if isinstance(expr, Cast):
            return self.linear(expr.value)
        name = type(expr).__name__
        if name not in ("Add", "Sub", "Mul"):
            return None
        a, b = self.linear(expr.a), self.linear(expr.b)
        if a is None or b is None:
            return None
        if name == "Mul":
            if a.coefficients and b.coefficients:
                return None
            factor, other = (b.constant, a) if not b.coefficients else (a.constant, b)
            return Linear(factor * other.constant, {v: factor * c for v, c in other.coefficients.items() if factor})
        sign = 1 if name == "Add" else -1
        sums = dict(a.coefficients)
        for var, value in b.coefficients.items():
            sums[var] = sums.get(var, 0) + sign * value
        return Linear(a.constant + sign * b.constant, {var: value for var, value in sums.items() if value})

    def span(self, expr: Any, ranges: Mapping[Var, Span]) -> Span:
        """A range that holds every value of the expression, for these ranges of loop variables. Raises
        DataDependentError for what has none."""
        linear = self.linear(expr)
        if linear is not None:
            return _span_of_linear(linear, ranges)
        name = type(expr).__name__
        if isinstance(expr, Cast):
            return self.span(expr.value, ranges)
        if isinstance(expr, Var) and expr in self.definitions:
            return self.span(self.definitions[expr], ranges)
        if isinstance(expr, Select):
            return _joined(self.span(expr.true_value, ranges), self.span(expr.false_value, ranges))
        if name in ("FloorDiv", "FloorMod"):
            return self._span_of_division(name, expr, ranges)
        if name in ("Add", "Sub", "Mul", "Min", "Max"):
            a, b = self.span(expr.a, ranges), self.span(expr.b, ranges)
            corners = [int(_BINARY[name](x, y)) for x in (a.least, a.largest) for y in (b.least, b.largest)]
            return Span(min(corners), max(corners))
        raise DataDependentError(str(expr))

    def _span_of_division(self, name: str, expr: Any, ranges: Mapping[Var, Span]) -> Span:
        divisor, dividend = self.known(expr.b), self.span(expr.a, ranges)
        if divisor <= 0:
            raise DataDependentError(str(expr))
        first, last = dividend.least // divisor, dividend.largest // divisor
        if name == "FloorDiv":
            return Span(first, last)
        if first == last:
            return Span(dividend.least % divisor, dividend.largest % divisor)
        return Span(0, divisor - 1)


def _span_of_linear(linear: Linear, ranges: Mapping[Var, Span]) -> Span:
    least = largest = linear.constant
    for var, factor in linear.coefficients.items():
        if var not in ranges:
            raise DataDependentError(str(var.name))
        ends = sorted((factor * ranges[var].least, factor * ranges[var].largest))
        least, largest = least + ends[0], largest + ends[1]
    return Span(least, largest)


def _joined(a: Span, b: Span) -> Span:
    return Span(min(a.least, b.least), max(a.largest, b.largest))


def reads_tensors(expr: Any) -> bool:
    """Does the expression read elements of buffers?"""
    return bool(collect(expr, TensorLoad))
