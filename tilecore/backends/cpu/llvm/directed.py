"""Arithmetic rounded towards zero, up or down, from arithmetic to nearest even, on scalars and vectors.

An operation gives its result to nearest, and the sign of what is lacking to the exact result. Where it lacks something
in the direction of the rounding, the result moves to the neighbouring number. What is lacking comes from error-free
sums (Dekker's Fast2Sum, Knuth's TwoSum) and from fused multiply-adds that give remainders exactly (M. Joldes, J.-M.
Muller and others, Handbook of Floating-Point Arithmetic, 2nd edition, chapters 4 and 5).

float32 is computed in float64, which holds every product of two, and no result underflows. Operands of float64 are
first scaled to about 1, so that what is lacking never underflows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilecore.backends.cpu.llvm.float_steps import Steps
from tilecore.backends.cpu.llvm.narrow import settled, single_to_odd
from tilecore.backends.cpu.llvm.types import Value

if TYPE_CHECKING:
    from tilecore.backends.cpu.llvm.function import Function

_FAR = 400  # powers of two between a product and a term, from which on the smaller one only has a sign


def directed(fn: Function, mode: str, operation: str, operands: list[Value]) -> Value:
    """``operation`` of float32 or float64, rounded "rz" towards zero, "ru" up or "rd" down."""
    single = operands[0].dtype == "float32"
    steps = Steps(fn, operands[0].lanes)
    texts = [steps.wide(value.text) if single else value.text for value in operands]
    if operation == "sub":
        operation, texts = "add", [texts[0], steps.negative(texts[1])]
    if operation == "rcp":
        operation, texts = "div", [steps.number(1.0), texts[0]]
    near, lacking = (_OF_SINGLE if single else _OF_DOUBLE)[operation](steps, *texts)
    if mode == "rd" and operation in ("add", "fma"):
        near = steps.zero_of_sum(operation, texts, near, lacking)
    kind, width = ("float", 32) if single else ("double", 64)
    if single:
        near, lacking = steps.narrow(near, lacking)
    return Value(steps.moved(mode, near, lacking, kind, width), operands[0].dtype, operands[0].lanes)


def narrow_fma(fn: Function, a: Value, b: Value, c: Value) -> Value:
    """a * b + c of 16-bit floats, in float32, so that rounding it to their type is as rounding once: the product is
    exact in float64, and the sum is rounded to odd (S. Boldo and G. Melquiond, "Emulation of a FMA and correctly
    rounded sums", IEEE Transactions on Computers 57, 2008)."""
    steps = Steps(fn, a.lanes)
    x, y, z = (steps.wide(settled(fn, value).text) for value in (a, b, c))
    near, lacking = steps.sum(steps.product(x, y), z)
    bits = steps.bits(near)
    less, more = (steps.op(f"fcmp {word}", lacking, steps.number(0.0)) for word in ("olt", "ogt"))
    is_negative = steps.bit_op("icmp slt", bits, 0)
    outwards = steps.choose(is_negative, less, more, steps.test)
    step = steps.choose(outwards, steps.whole(1), steps.whole(-1), steps.int)
    is_inexact = fn.op(f"or {steps.test} {less}, {more}")
    is_even = steps.bit_op("icmp eq", steps.bit_op("and", bits, 1), 0)
    odd = steps.choose(steps.both(is_inexact, is_even), steps.bit_op("add", bits, step), bits, steps.int)
    return Value(single_to_odd(fn, Value(steps.of_bits(odd), "float64", a.lanes)), a.dtype, a.lanes)


Parts = tuple[str, str]  # a result to nearest, and a number with the sign of what it lacks: 0 or NaN for nothing


# -- float32, in float64: rounding to nearest there, and what is lacking ---------------------------------------------


def _single_product(s: Steps, a: str, b: str) -> Parts:
    return s.product(a, b), s.number(0.0)


def _single_fma(s: Steps, a: str, b: str, c: str) -> Parts:
    return s.sum(s.product(a, b), c)


def _single_quotient(s: Steps, a: str, b: str) -> Parts:
    near = s.op("fdiv", a, b)
    return near, s.of_sign(b, s.function("fma", s.negative(near), b, a))


def _single_root(s: Steps, a: str) -> Parts:
    near = s.function("sqrt", a)
    return near, s.function("fma", s.negative(near), near, a)


# -- float64 -----------------------------------------------------------------------------------------------------


def _product(s: Steps, a: str, b: str) -> Parts:
    near = s.product(a, b)
    (x, i), (y, j) = s.scaled(a), s.scaled(b)
    scaled = s.times_power(near, s.bit_op("sub", s.whole(0), s.bit_op("add", i, j)))
    lacking = s.function("fma", x, y, s.negative(scaled))
    return near, s.where(s.both(s.is_scalable(a), s.is_scalable(b)), lacking)


def _quotient(s: Steps, a: str, b: str) -> Parts:
    near = s.op("fdiv", a, b)
    (x, i), (y, j) = s.scaled(a), s.scaled(b)
    scaled = s.times_power(near, s.bit_op("sub", j, i))
    lacking = s.of_sign(b, s.function("fma", s.negative(scaled), y, x))
    return near, s.where(s.both(s.is_scalable(a), s.is_scalable(b)), lacking)


def _root(s: Steps, a: str) -> Parts:
    near = s.function("sqrt", a)
    x, i = s.scaled(a)
    odd = s.bit_op("and", i, 1)
    x = s.product(x, s.power(odd))
    half = s.bit_op("ashr", s.bit_op("sub", i, odd), 1)
    scaled = s.times_power(near, s.bit_op("sub", s.whole(0), half))
    return near, s.where(s.is_scalable(near), s.function("fma", s.negative(scaled), scaled, x))


def _fma(s: Steps, a: str, b: str, c: str) -> Parts:
    """What is lacking is the sign of the exact sum of the product's two halves, the term and the negated result: that
    of the highest part of an expansion that is not 0 (J. R. Shewchuk, "Adaptive precision floating-point arithmetic",
    1997, Grow-Expansion)."""
    near = s.function("fma", a, b, c)
    (x, i), (y, j), (z, k) = s.scaled(a), s.scaled(b), s.scaled(c)
    of_product = s.bit_op("add", i, j)
    has_term = s.is_scalable(c)
    k = s.choose(has_term, k, of_product, s.int)
    base = s.choose(s.bit_op("icmp sgt", of_product, k), of_product, k, s.int)
    scale = s.power(s.within(s.bit_op("sub", of_product, base), -_FAR, 0))
    high = s.product(x, y)
    low = s.product(s.function("fma", x, y, s.negative(high)), scale)
    high = s.product(high, scale)
    term = s.product(z, s.power(s.within(s.bit_op("sub", k, base), -_FAR, 0)))
    term = s.choose(has_term, term, s.number(0.0))
    result = s.negative(s.times_power(near, s.bit_op("sub", s.whole(0), base)))
    parts: list[str] = []
    carried = term
    for part in (low, high):
        carried, rest = s.sum(carried, part)
        parts.append(rest)
    parts.append(carried)
    carried, lacking = result, ""
    for part in parts:
        carried, rest = s.sum(carried, part)
        is_zero = s.op("fcmp oeq", rest, s.number(0.0))
        lacking = s.choose(is_zero, lacking, rest) if lacking else rest
    lacking = s.choose(s.op("fcmp oeq", carried, s.number(0.0)), lacking, carried)
    lacking = s.choose(s.is_finite(near), lacking, s.negative(near))
    finite = s.both(s.both(s.is_scalable(a), s.is_scalable(b)), s.is_finite(c))
    return near, s.where(finite, lacking)


_OF_SINGLE: dict[str, Callable[..., Parts]] = {
    "add": Steps.sum,
    "mul": _single_product,
    "fma": _single_fma,
    "div": _single_quotient,
    "sqrt": _single_root,
}
_OF_DOUBLE: dict[str, Callable[..., Parts]] = {
    "add": Steps.sorted_sum,
    "mul": _product,
    "fma": _fma,
    "div": _quotient,
    "sqrt": _root,
}
