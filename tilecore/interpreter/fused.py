"""Computes fused multiply-adds: a * b + c rounded once, for every float type."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType, round_to

_MIDWAY = np.int64(1 << 28)  # of what a float64 has beyond a float32
_BEYOND = np.int64((1 << 29) - 1)
_SMALLEST_NORMAL = 2.0**-126
_SPLITTER = 2.0**27 + 1.0  # cuts 53 bits in two halves


def fused_multiply_add(kind: ValueType, a: Value, b: Value, c: Value) -> Value:
    """a * b + c rounded once to ``kind``; the operands are of that kind."""
    if kind.name == "float64":
        return _of_doubles(np.asarray(a), np.asarray(b), np.asarray(c))
    product, term = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)  # the product is exact
    total = product + term
    if kind.carrier == kind.storage and not np.any(_is_midway(total)):
        return round_to(kind, total)
    return round_to(kind, _to_odd(total, _rest_of_sum(product, term, total)))


def _is_midway(total: Value) -> Value:
    """May a float64 that was rounded lie between two float32 where the exact sum does not?"""
    return ((total.view(np.int64) & _BEYOND) == _MIDWAY) | (np.abs(total) < _SMALLEST_NORMAL)


def _rest_of_sum(x: Value, y: Value, total: Value) -> Value:
    """What x + y is more than ``total``, its rounded value (Knuth's TwoSum)."""
    back = total - x
    return (x - (total - back)) + (y - back)


def _to_odd(total: Value, rest: Value) -> Value:
    """``total + rest`` as a float64 whose last bit is set where it is not exact: rounded once more, to fewer bits, that
    is as if it had been exact."""
    even = (total.view(np.int64) & np.int64(1)) == 0
    odd = np.nextafter(total, np.where(rest > 0, np.inf, -np.inf))
    exact = (rest == 0) | ~np.isfinite(total) | ~np.isfinite(rest)
    return np.where(exact | ~even, total, odd)


def _of_doubles(a: Any, b: Any, c: Any) -> Value:
    """By error-free sums and products, rounded to odd before the last sum (Boldo and Melquiond, "Emulation of a FMA and
    correctly rounded sums", IEEE Transactions on Computers 57, 2008); by fractions where exponents are extreme."""
    plain = np.where(
        np.isfinite(a) & np.isfinite(b) & ~np.isfinite(c), c, a * b + c
    )  # a product may only seem infinite
    special = ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c)) | (a == 0) | (b == 0)
    moderate = _within(a, 400) & _within(b, 400) & (_within(c, 900) | (c == 0))
    upper, lower = _exact_product(a, b)
    small = c + lower
    total = upper + small
    rests = _rest_of_sum(c, lower, small), _rest_of_sum(upper, small, total)
    rest = rests[0] + rests[1]
    rounded = np.where(special, plain, total + _to_odd(rest, _rest_of_sum(*rests, rest)))
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


def _exact_product(a: Value, b: Value) -> tuple[Value, Value]:
    """The product rounded, and what it is more (Dekker's TwoProduct)."""
    product = a * b
    (a1, a0), (b1, b0) = _halves(a), _halves(b)
    return product, ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0


def _halves(value: Value) -> tuple[Value, Value]:
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
