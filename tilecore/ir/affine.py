"""Computes how an index depends on a loop variable: coefficients and strides."""

from __future__ import annotations

from typing import Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant
from tilecore.ir.nodes import Add, Cast, Expr, Mul, Range, Sub, Var
from tilecore.ir.visit import reads_variable, substitute


class Strided:
    """A symbolic stride: an increment of the variable by 1 changes the index by ``step``."""

    def __init__(self, step: Expr) -> None:
        self.step = step


def coefficient(index: Any, var: Var) -> int | Strided | None:
    """The coefficient c of ``index = c * var + rest``, where ``rest`` is free of ``var``; None for another form."""
    if isinstance(index, Var):
        return 1 if index.same_as(var) else 0
    if isinstance(index, Cast):
        return coefficient(index.value, var)
    if isinstance(index, (Add, Sub)):
        left, right = coefficient(index.a, var), coefficient(index.b, var)
        if isinstance(left, int) and isinstance(right, int):
            return left + right if isinstance(index, Add) else left - right
        if isinstance(left, Strided) and right == 0:
            return left
        if isinstance(right, Strided) and left == 0 and isinstance(index, Add):
            return right
        return None
    if isinstance(index, Mul):
        left, right = coefficient(index.a, var), coefficient(index.b, var)
        if left == 0 and right == 0:
            return 0
        for inner, factor in ((left, index.b), (right, index.a)):
            constant_value = constant(factor)
            if isinstance(inner, int) and inner and constant_value is not None:
                return inner * constant_value
            if inner == 1 and not reads_variable(factor, var):
                return Strided(factor)
        return None
    return None if reads_variable(index, var) else 0


def lane_step(index: Any, var: Var, count: int) -> int | Strided | None:
    """As :func:`coefficient`, for ``count`` neighbouring values of ``var`` from a multiple of ``count`` on.

    It simplifies divisions and remainders by multiples of ``count``.
    """
    step = coefficient(index, var)
    if step is not None:
        return step
    dtype = str(var.ty.dtype)
    chunk, lane = Var("chunk", dtype), Var("lane", dtype)
    analyzer = Analyzer()
    analyzer.bind(lane, Range.from_min_extent(const(0, dtype), const(count, dtype)))
    analyzer.bind(chunk, Range.from_min_extent(const(0, dtype), const(2**31 // count, dtype)))
    return coefficient(analyzer.simplify(substitute(index, {var: chunk * count + lane})), lane)
