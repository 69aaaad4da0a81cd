"""Element types of expressions: casts, constants in the type of the other side, and the type that holds both."""

from __future__ import annotations

import math
import numbers
from typing import Any

from tilecore.dtypes import dtype
from tilecore.errors import LanguageError
from tilecore.ir.nodes import Cast, Expr, FloatImm, IntImm, tirx
from tilecore.language.symbols import ConstDim
from tilecore.language.values import as_expr


def convert(value: Any, kind: str) -> Expr:
    """``value`` as an expression of element type ``kind``, cast if need be; Python's integers are checked to fit."""
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
    if facts.kind == "float":
        return tirx.const(float(number), ir_dtype(kind))
    if facts.kind == "bool":
        return tirx.const(bool(number), "bool")
    low, high = _integer_range(kind)
    if isinstance(number, numbers.Integral):
        return tirx.const((int(number) - low) % (high - low + 1) + low, ir_dtype(kind))
    if number != number:
        return tirx.const(0, ir_dtype(kind))
    return tirx.const(int(min(max(float(number), low), high)), ir_dtype(kind))


def _integer_range(kind: str) -> tuple[int, int]:
    """Least and largest value of an integer type."""
    facts = dtype(kind).facts
    high = 2 ** (facts.bits - (facts.kind == "int")) - 1
    return (-high - 1 if facts.kind == "int" else 0), high


def _check_fits(value: Any, kind: str) -> None:
    """A Python number must be in the range of the type: an integer in that of integers, a finite one in that of
    floats."""
    facts = dtype(ir_dtype(kind)).facts
    low: float
    high: float
    if facts.kind == "float" and facts.max is not None and value == value and abs(value) != math.inf:
        low, high, wider, meaning = -facts.max, facts.max, "float64", "goes to the end of the range"
    elif facts.kind in ("int", "uint") and isinstance(value, numbers.Integral):
        (low, high), wider, meaning = _integer_range(kind), "int64", "wraps"
    else:
        return
    if not low <= value <= high:
        raise LanguageError(
            f"{value} does not fit in {kind}",
            expected=f"{low} to {high}",
            hint=f'T.cast(T.{wider}({value}), "{kind}") {meaning}',
        )


def ir_dtype(kind: str) -> str:
    """The element type as the IR knows it: tfloat32 is float32 whose matmuls may round."""
    name = str(dtype(kind))
    return "float32" if name == "tfloat32" else name


def unify(left: Any, right: Any) -> tuple[Expr, Expr]:
    """Both as expressions of one element type: constants take the other's, else TVM's promotion decides."""
    if isinstance(left, numbers.Real) and not isinstance(right, numbers.Real):
        other = as_expr(right)
        return _take(left, other), other
    if isinstance(right, numbers.Real) and not isinstance(left, numbers.Real):
        other = as_expr(left)
        return other, _take(right, other)
    a, b = as_expr(left), as_expr(right)
    if str(a.ty.dtype) == str(b.ty.dtype):
        return a, b
    joined = str(promoted(str(a.ty.dtype), str(b.ty.dtype)))
    return convert(a, joined), convert(b, joined)


def _take(number: Any, other: Expr) -> Expr:
    kind = str(other.ty.dtype)
    whole = isinstance(number, numbers.Integral)
    if dtype(kind).is_float or (whole and not isinstance(number, bool)):
        return _constant(number, kind)
    return as_expr(number)


def promoted(a: str, b: str) -> str:
    """The element type that holds both: floats win over integers, wider over narrower, signed over unsigned."""
    left, right = dtype(a).facts, dtype(b).facts
    order = {"bool": 0, "uint": 1, "int": 2, "float": 3}
    if left.kind != right.kind and "float" in (left.kind, right.kind):
        return a if left.kind == "float" else b
    if left.bits != right.bits:
        return a if left.bits > right.bits else b
    if left.kind == right.kind == "float" and a != b:
        return "float32"
    return a if order[left.kind] >= order[right.kind] else b
