"""Finds conditions whose arithmetic may wrap around, which may not be reasoned about as numbers without limits.

``n + 1 > n`` is false for the largest int32. The conditions of masks are rearranged as if integers had no limits, which
is right where no part of the condition can leave its type: its variables are loop variables and block indices, whose
ranges are known, or they are proven at run time to lie within ``LIMIT``.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, dtype_of
from tilecore.ir.nodes import EQ, GE, GT, LE, LT, NE, Add, And, Call, Cast, Mul, Range, Sub, TensorLoad, Var
from tilecore.ir.visit import collect, variables

LIMIT = 1 << 28  # values of variables of which nothing is known must lie between -LIMIT and LIMIT at run time
_WIDTHS = {"int32": 31, "int64": 63}


def may_wrap(condition: Any, ranges: dict[Var, Range], analyzer: Analyzer) -> bool:
    """Whether a part of the condition may leave its type, of which nothing is tested at run time."""
    tests = tests_of_ranges(condition, ranges, analyzer)
    return tests is None or bool(tests)


def tests_of_ranges(condition: Any, ranges: dict[Var, Range], analyzer: Analyzer) -> list[Any] | None:
    """What must hold at run time so that no part of the condition leaves its type; None where it may all the same.

    ranges: of the variables of the loops around the condition. analyzer: has the ranges of block indices and of outer
    loops.
    """
    if collect(condition, TensorLoad, Call):
        return None  # a value of which nothing can be tested before the loop
    scratch, tests = Analyzer(), []
    for var in variables(condition):
        kind = dtype_of(var)
        if kind not in _WIDTHS:
            return None
        if var in ranges:
            scratch.bind(var, ranges[var])
            continue
        bounds = analyzer.const_int_bound(var)
        least, largest = int(bounds.min_value), int(bounds.max_value)
        if least < -LIMIT or largest > LIMIT:
            least, largest = -LIMIT, LIMIT
            tests.append(And(GE(var, const(-LIMIT, kind)), LE(var, const(LIMIT, kind))))
        scratch.bind(var, Range.from_min_extent(const(least, kind), const(largest - least + 1, kind)))
    parts = collect(condition, Add, Sub, Mul, Cast)
    comparisons = collect(condition, EQ, GE, GT, LE, LT, NE)
    if any(dtype_of(comparison.a) not in _WIDTHS for comparison in comparisons):
        return None
    differences = [difference for node in comparisons for difference in _differences(node.a, node.b)]
    return None if any(_leaves_type(part, scratch) for part in (*parts, *differences)) else tests


def _differences(a: Any, b: Any) -> list[Any]:
    """The differences of the sides of a comparison, and those less 1: masks are decided by them."""
    one = const(1, dtype_of(a))
    return [Sub(a, b), Sub(Sub(a, b), one), Sub(b, a), Sub(Sub(b, a), one)]


def _leaves_type(part: Any, analyzer: Analyzer) -> bool:
    width = _WIDTHS.get(dtype_of(part))
    if width is None:
        return True
    operands = [part.value] if isinstance(part, Cast) else [part.a, part.b]
    if any(dtype_of(operand) not in _WIDTHS for operand in operands):
        return True
    bounds = [analyzer.const_int_bound(operand.astype("int64")) for operand in operands]
    (low, high), *others = [(int(bound.min_value), int(bound.max_value)) for bound in bounds]
    if isinstance(part, Cast):
        ends = [low, high]
    elif isinstance(part, Add):
        ends = [low + others[0][0], high + others[0][1]]
    elif isinstance(part, Sub):
        ends = [low - others[0][1], high - others[0][0]]
    else:
        ends = [a * b for a in (low, high) for b in others[0]]
    return min(ends) < -(1 << width) or max(ends) >= 1 << width
