"""Computes operations that are rounded towards zero, up or down, by exact arithmetic on fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType
from tilecore.interpreter.fused import fused_multiply_add


def rounded_in_direction(kind: ValueType, mode: str, operation: str, operands: list[Value]) -> Value:
    """An operation on float32 or float64, rounded "rz" towards zero, "ru" up or "rd" down.

    operation: "add", "sub", "mul", "fma", "div", "rcp" or "sqrt". The result to nearest is compared with the exact
    result, and moves to the neighbouring number where it lies on the wrong side of it.
    """
    if operation == "sub":
        operation, operands = "add", [operands[0], -operands[1]]
    if operation == "rcp":
        operation, operands = "div", [np.ones_like(operands[0]), operands[0]]
    numbers = np.broadcast_arrays(*operands)
    with np.errstate(all="ignore"):
        nearest = np.asarray(_NEAREST[operation](kind, *numbers))
    results = np.array(nearest)
    for index in np.ndindex(results.shape):
        exact_operands = [float(array[index]) for array in numbers]
        results[index] = _moved(kind, mode, operation, exact_operands, nearest[index])
    return results[()]


def _moved(kind: ValueType, mode: str, operation: str, operands: list[float], nearest: Any) -> Any:
    if not all(map(math.isfinite, operands)) or math.isnan(nearest) or (operation == "div" and operands[1] == 0):
        return nearest
    lacking = _LACKING[operation](float(nearest), *operands)
    if lacking == 0:
        return _zero_rounded_down(operation, operands, nearest) if mode == "rd" and nearest == 0 else nearest
    is_negative = math.copysign(1.0, nearest) < 0
    direction = {"ru": 1, "rd": -1, "rz": 1 if is_negative else -1}[mode]
    if lacking * direction < 0:
        return nearest
    limit = kind.element.type(direction * math.inf)
    return np.nextafter(nearest, limit)


def _zero_rounded_down(operation: str, operands: list[float], nearest: Any) -> Any:
    """The sum of two terms that is exactly 0 is -0 when it is rounded down, unless both are +0 (IEEE 754-2019, 6.3)."""
    if operation not in ("add", "fma"):
        return nearest
    signs = [math.copysign(1.0, operand) for operand in operands]
    if operation == "fma":
        signs = [signs[0] * signs[1], signs[2]]
    return -abs(nearest) if min(signs) < 0 else abs(nearest)


def _lacking(nearest: float, exact: Fraction) -> int:
    """The sign of what ``nearest`` lacks to the exact result."""
    if math.isinf(nearest):
        return -1 if nearest > 0 else 1
    return (exact > Fraction(nearest)) - (exact < Fraction(nearest))


def _root_lacking(nearest: float, a: float) -> int:
    square = Fraction(nearest) ** 2
    return (Fraction(a) > square) - (Fraction(a) < square)


_NEAREST: dict[str, Callable[..., Any]] = {
    "add": lambda kind, a, b: a + b,
    "mul": lambda kind, a, b: a * b,
    "fma": fused_multiply_add,
    "div": lambda kind, a, b: a / b,
    "sqrt": lambda kind, a: np.sqrt(a),
}
_LACKING: dict[str, Callable[..., int]] = {
    "add": lambda nearest, a, b: _lacking(nearest, Fraction(a) + Fraction(b)),
    "mul": lambda nearest, a, b: _lacking(nearest, Fraction(a) * Fraction(b)),
    "fma": lambda nearest, a, b, c: _lacking(nearest, Fraction(a) * Fraction(b) + Fraction(c)),
    "div": lambda nearest, a, b: _lacking(nearest, Fraction(a) / Fraction(b)),
    "sqrt": _root_lacking,
}
