"""Computes fused multiply-adds: a * b + c rounded once, for every float type."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType, round_to

_BEYOND = np.int64((1 << 29) - 1)  # the bits of a float64's significand that a float32's lacks
_MIDWAY = np.int64(1 << 28)  # their value midway between two float32
_SMALLEST_NORMAL = 2.0**-126
_SPLITTER = 2.0**27 + 1.0  # splits 53 bits into two halves


def fused_multiply_add(kind: ValueType, a: Value, b: Value, c: Value) -> Value:
    """a * b + c rounded once to ``kind``; the operands are of that kind."""
    if kind.name == "float64":
        return _of_doubles(np.asarray(a), np.asarray(b), np.asarray(c))
    product, term = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)  # the product is exact
    total = product + term
    if kind.carrier == kind.storage and not np.any(_is_midway(total)):
        return round_to(kind, total)
    return round_to(kind, _to_odd(total, _error_of_sum(product, term, total)))


def _is_midway(total: Value) -> Value:
    """Is the rounded sum midway between two float32, where the exact sum may not be? True for subnormal float32 too."""
    return ((total.view(np.int64) & _BEYOND) == _MIDWAY) | (np.abs(total) < _SMALLEST_NORMAL)


def _error_of_sum(x: Value, y: Value, total: Value) -> Value:
    """The rounding error x + y - total, where ``total`` is the rounded sum (Knuth's TwoSum)."""
    back = total - x
    return (x - (total - back)) + (y - back)


def _to_odd(total: Value, error: Value) -> Value:
    """``total + error`` rounded to odd: where it is not exact, the last bit of the float64 is set. Rounding that once
    more, to fewer bits, gives the same as rounding the exact sum."""
    even = (total.view(np.int64) & np.int64(1)) == 0
    odd = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    exact = (error == 0) | ~np.isfinite(total) | ~np.isfinite(error)
    return np.where(exact | ~even, total, odd)


def _of_doubles(a: Any, b: Any, c: Any) -> Value:
    """By error-free sums and products, rounded to odd before the last sum (Boldo and Melquiond, "Emulation of a FMA and
    correctly rounded sums", IEEE Transactions on Computers 57, 2008); by fractions where exponents are extreme."""
    # where a * b overflows, the exact product is still finite
    plain = np.where(np.isfinite(a) & np.isfinite(b) & ~np.isfinite(c), c, a * b + c)
    special = ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c)) | (a == 0) | (b == 0)
    moderate = _within(a, 400) & _within(b, 400) & (_within(c, 900) | (c == 0))
    upper, lower = _product_with_error(a, b)
    small = c + lower
    total = upper + small
    errors = _error_of_sum(c, lower, small), _error_of_sum(upper, small, total)
    error = errors[0] + errors[1]
    rounded = np.where(special, plain, total + _to_odd(error, _error_of_sum(*errors, error)))
    extreme = ~special & ~moderate
    if np.any(extreme):
        x, y, z, extreme = np.broadcast_arrays(a, b, c, extreme)
        rounded = np.array(np.broadcast_to(rounded, extreme.shape))
        rounded[extreme] = [
            _of_fractions(*operands) for operands in zip(x[extreme], y[extreme], z[extreme], strict=True)
        ]
    return rounded[()]


def _within(value: Value, exponent: int) -> Value:
    size = np.abs(value)
    return (size >= 2.0**-exponent) & (size <= 2.0**exponent)


def _product_with_error(a: Value, b: Value) -> tuple[Value, Value]:
    """The rounded product, and its rounding error (Dekker's TwoProduct)."""
    product = a * b
    (a1, a0), (b1, b0) = _halves(a), _halves(b)
    return product, ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0


def _halves(value: Value) -> tuple[Value, Value]:
    """Two float64 of at most 26 bits whose sum is ``value`` (Veltkamp's splitting)."""
    scaled = value * _SPLITTER
    upper = scaled - (scaled - value)
    return upper, value - upper


def _of_fractions(a: float, b: float, c: float) -> float:
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return float(a * b + c)  # which has the sign of a sum that is 0
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
