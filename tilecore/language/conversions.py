"""Element types of expressions: casts, constants in the type of the other operand, and the type that holds both."""

from __future__ import annotations

import math
import numbers
from typing import Any

from tilecore.dtypes import Facts, dtype, element_type, split_vector
from tilecore.errors import LanguageError
from tilecore.ir.build import const
from tilecore.ir.nodes import Cast, Expr, FloatImm, IntImm, tirx
from tilecore.language.symbols import ConstDim
from tilecore.language.values import as_expr


def convert(value: Any, kind: str) -> Expr:
    """``value`` as an expression of element type ``kind``, cast if need be; Python's integers are checked to fit. Of a
    vector type: each lane, or a value for all of them."""
    if (vector := split_vector(str(kind)))[1] > 1:
        kind = vector[0]
    if isinstance(value, ConstDim):
        value = value.value
    if isinstance(value, numbers.Real):
        if not isinstance(value, bool):
            _check_fits(value, kind)
        return _constant(value, kind)
    expression = as_expr(value)
    if str(expression.ty.dtype) == str(kind):
        return expression
    if isinstance(expression, (IntImm, FloatImm)):
        return _constant(expression.value, kind)
    return Cast(ir_dtype(kind), expression)


def _constant(number: Any, kind: str) -> Expr:
    """A number as a constant of element type ``kind``, as a cast in the kernel would convert it."""
    facts = dtype(kind).facts
    if facts.kind == "float":  # tfloat32 holds what float32 does
        stored = dtype("float32").facts if kind == "tfloat32" else facts
        return const(_in_range(float(number), stored), ir_dtype(kind))
    if facts.kind == "bool":
        return tirx.const(bool(number), "bool")
    low, high = facts.integer_range
    if isinstance(number, numbers.Integral):
        return tirx.const((int(number) - low) % (high - low + 1) + low, ir_dtype(kind))
    if number != number:
        return tirx.const(0, ir_dtype(kind))
    return tirx.const(int(min(max(float(number), low), high)), ir_dtype(kind))


def _in_range(number: float, facts: Facts) -> float:
    """``number``, or what the float type has for one beyond its largest finite value: that value, or infinity in types
    of more than 8 bits. NaN is the largest value in types of less than 8 bits, which have no NaN."""
    largest = float(facts.max or 0.0)
    if number != number:
        return largest if facts.bits < 8 else number
    if abs(number) <= largest:
        return number
    if facts.bits > 8 and not _rounds_to_finite(number, facts):
        largest = math.inf
    return math.copysign(largest, number)


def _rounds_to_finite(number: Any, facts: Facts) -> bool:
    """Does ``number`` round to a finite value of the float type? 3.4028235e38 is beyond the largest float32, and rounds
    to it."""
    largest = float(facts.max or 0.0)
    if abs(number) <= largest:
        return True
    if facts.bits not in (16, 32):  # a Python float is a float64; narrow types accept only numbers within their range
        return False
    step = math.ldexp(1.0, math.frexp(largest)[1] - 1 - facts.significand)
    return abs(number) < largest + step / 2


def _check_fits(value: Any, kind: str) -> None:
    """A Python number must be in the range of the type: an integer in that of integers, a finite one in that of
    floats."""
    facts = dtype(ir_dtype(kind)).facts
    low: float
    high: float
    if facts.kind == "float" and facts.max is not None and value == value and abs(value) != math.inf:
        low, high, wider, meaning = -facts.max, facts.max, "float64", "goes to the end of the range"
    elif facts.kind in ("int", "uint") and isinstance(value, numbers.Integral):
        (low, high), wider, meaning = dtype(kind).facts.integer_range, "int64", "wraps"
    else:
        return
    fits = _rounds_to_finite(value, facts) if facts.kind == "float" else low <= value <= high
    if not fits:
        raise LanguageError(
            f"{value} does not fit in {kind}",
            found=f"a number that {'is below minimum' if value < 0 else 'exceeds maximum'} of {kind}",
            expected=f"{low} to {high}",
            hint=f'T.cast(T.{wider}({value}), "{kind}") {meaning}',
        )


def number_of(value: Any) -> Expr:
    """``value`` as an operand of arithmetic: a scale, which has none, is the float32 of the same value."""
    expression = as_expr(value)
    kind = split_vector(str(expression.ty.dtype))[0]
    return convert(expression, "float32") if kind == "float8_e8m0fnu" else expression


def ir_dtype(kind: str) -> str:
    """The element type as the IR knows it: tfloat32 is float32 whose matmuls may round. A vector type raises
    LanguageError."""
    name = str(element_type(kind))
    return "float32" if name == "tfloat32" else name


def unify(left: Any, right: Any) -> tuple[Expr, Expr]:
    """Both as expressions of the element type that holds both. A Python number is an int32 (int64 if it does not fit,
    uint64 beside one), a float32 or a bool."""
    kinds = _kind(left), _kind(right)
    common_kind = promoted(*kinds)
    return _as_common_kind(left, kinds[0], common_kind), _as_common_kind(right, kinds[1], common_kind)


def _kind(value: Any) -> str:
    """The element type of one operand; uint64 for a Python integer that int64 does not hold."""
    plain = value.value if isinstance(value, ConstDim) else value
    if isinstance(plain, numbers.Integral) and not isinstance(plain, bool) and not -(2**63) <= int(plain) < 2**63:
        if 0 <= int(plain) < 2**64:
            return "uint64"
        raise LanguageError(f"{plain} does not fit in 64 bits", expected="an integer from -2**63 to 2**64 - 1")
    if isinstance(plain, numbers.Real) and not isinstance(plain, numbers.Integral):
        return "float32"
    return str(as_expr(value).ty.dtype)


def _as_common_kind(value: Any, kind: str, common_kind: str) -> Expr:
    if isinstance(value, numbers.Real):
        if not isinstance(value, numbers.Integral):
            _check_fits(value, common_kind)
        return _constant(value, common_kind)
    return as_expr(value) if kind == common_kind else convert(value, common_kind)


def promoted(a: str, b: str) -> str:
    """The element type of an operation on both: floats win over integers and these over bool, wider ones over
    narrower, unsigned ones over signed of their width; two float types of one width give float32."""
    a, b = ("float32" if dtype(kind).facts.is_scale else kind for kind in (a, b))  # scales have no arithmetic
    left, right = dtype(a).facts, dtype(b).facts
    if a == b:
        return a
    for kind in ("float", "bool"):
        if (left.kind == kind) != (right.kind == kind):
            return a if (left.kind == kind) == (kind == "float") else b
    if left.bits != right.bits:
        return a if left.bits > right.bits else b
    if left.kind == "float":
        return "float32"
    return a if left.kind == "uint" else b
