"""Defines the kinds of reduction: the identity of each, and how to combine two partial results."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.build import cast, const
from tilecore.ir.intrinsics import is_nan
from tilecore.ir.nodes import Expr, Select, tirx

# "max.nan" and "min.nan" are max and min that propagate a NaN
KINDS = ("sum", "prod", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor")
_COMBINED_AS = {"abssum": "sum", "absmax": "max"}


def has_meaning(kind: str, dtype: str) -> bool:
    """Is the kind of reduction defined for ``dtype``? Floats have no bitwise operations, and bool has no sums."""
    facts = DType(dtype).facts
    if kind.removeprefix("bit") in ("and", "or", "xor"):
        return facts.kind != "float"
    return facts.kind != "bool" or combining_kind(kind) not in ("sum", "prod", "add")


def combining_kind(kind: str) -> str:
    """The kind that combines partial results: for a reduction of absolute values, the kind without them."""
    return _COMBINED_AS.get(kind, kind)


def combining_kind_of(kind: str, nan_propagate: Any) -> str:
    """The kind that combines partial results of ``kind``; for max and min the form that propagates a NaN, if it
    shall."""
    plain = combining_kind(kind)
    return f"{plain}.nan" if nan_propagate and plain in ("max", "min") else plain


NUMBERS = ".numbers"  # suffix of a kind: no partial result is a NaN


def element(kind: str, value: Expr) -> Expr:
    """The value that a reduction combines for one element: the element or its absolute value."""
    return tirx.abs(value) if kind in _COMBINED_AS and not str(value.ty.dtype).startswith(("uint", "bool")) else value


def accumulator(dtype: str) -> str:
    """The type that a reduction into ``dtype`` accumulates in: float32 for narrower floats."""
    kind = DType(dtype)
    return "float32" if kind.is_float and kind.bits < 32 else dtype


def identity(kind: str, dtype: str) -> Expr:
    """The identity of a kind: combined with a value, it gives the value."""
    facts = DType(dtype).facts
    smallest = kind == "absmax"  # no absolute value is less than 0
    kind = combining_kind(kind).removesuffix(".nan")
    if smallest or kind in ("sum", "bitor", "bitxor"):
        return const(False if facts.kind == "bool" else 0, dtype)
    if kind == "prod":
        return const(1, dtype)
    if kind == "bitand":
        return const(True if facts.kind == "bool" else (-1 if facts.kind == "int" else 2**facts.bits - 1), dtype)
    sign = -1 if kind == "max" else 1
    if facts.kind == "float":
        return const(sign * float("inf"), dtype) if facts.has_infinity else const(sign * facts.max, dtype)  # type: ignore[operator]
    if facts.kind == "bool":
        return const(kind == "min", dtype)
    signed = facts.kind == "int"
    high = 2 ** (facts.bits - signed) - 1
    return const((-high - 1 if signed else 0) if kind == "max" else high, dtype)


def combine(kind: str, total: Expr, value: Expr) -> Expr:
    """``total`` combined with one more value (vectors: lane by lane). Max and min ignore a NaN."""
    if kind.endswith(NUMBERS):
        return combine_numbers(kind.removesuffix(NUMBERS), total, value)
    kind = combining_kind(kind)
    dtype = str(total.ty.dtype)
    value = cast(value, dtype)
    is_bool = dtype.startswith("bool")
    if kind == "sum":
        return tirx.Or(total, value) if is_bool else total + value
    if kind == "prod":
        return total * value
    if kind in _BITWISE:
        return _LOGICAL[kind](total, value) if is_bool else _BITWISE[kind](total, value)
    better = tirx.GT(value, total) if kind.startswith("max") else tirx.LT(value, total)
    if kind.endswith(".nan") and "float" in dtype:
        better = tirx.Or(better, is_nan(value))
    return Select(better, value, total)


def combine_numbers(kind: str, total: Expr, value: Expr) -> Expr:
    """As :func:`combine`, where ``total`` is not a NaN: max and min are one operation then."""
    plain = combining_kind(kind)
    if plain not in ("max", "min") or "float" not in str(total.ty.dtype):
        return combine(kind, total, value)
    return (tirx.Max if plain == "max" else tirx.Min)(total, cast(value, str(total.ty.dtype)))


def ignores_nan(kind: str, dtype: str) -> bool:
    """Does a reduction of values of ``dtype`` pass over those that are NaN, and may some of them be one?"""
    return combining_kind(kind) in ("max", "min") and dtype.startswith(("float", "bfloat"))


_BITWISE = {"bitand": tirx.BitwiseAnd, "bitor": tirx.BitwiseOr, "bitxor": tirx.BitwiseXor}
_LOGICAL = {"bitand": tirx.And, "bitor": tirx.Or, "bitxor": tirx.NE}
