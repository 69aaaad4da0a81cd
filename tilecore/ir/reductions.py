"""The kinds of reduction: their identity, and how to combine two partial results."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.build import cast, const
from tilecore.ir.intrinsics import is_nan
from tilecore.ir.nodes import Expr, Select, tirx

# "max.nan" and "min.nan": as max and min, but a NaN stays
KINDS = ("sum", "prod", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor")
_JOINED = {"abssum": "sum", "absmax": "max"}


def has_meaning(kind: str, dtype: str) -> bool:
    """Can values of ``dtype`` be joined so? Floats have no bitwise operations, bool has no sums."""
    facts = DType(dtype).facts
    if kind.removeprefix("bit") in ("and", "or", "xor"):
        return facts.kind != "float"
    return facts.kind != "bool" or joiner(kind) not in ("sum", "prod", "add")


def joiner(kind: str) -> str:
    """The kind that joins partial results: that of absolute values is the plain one."""
    return _JOINED.get(kind, kind)


def joining(kind: str, nan_propagate: Any) -> str:
    """The kind that joins partial results of ``kind``: of max and min, if a NaN is to stay, the one that keeps it."""
    plain = joiner(kind)
    return f"{plain}.nan" if nan_propagate and plain in ("max", "min") else plain


NUMBERS = ".numbers"  # behind a kind: no partial result is a NaN


def element(kind: str, value: Expr) -> Expr:
    """What is joined for one element: its absolute value, or itself."""
    return tirx.abs(value) if kind in _JOINED and not str(value.ty.dtype).startswith(("uint", "bool")) else value


def accumulator(dtype: str) -> str:
    """The type that a reduction into ``dtype`` accumulates in: float32 for narrower floats."""
    kind = DType(dtype)
    return "float32" if kind.is_float and kind.bits < 32 else dtype


def identity(kind: str, dtype: str) -> Expr:
    """The value that joins to nothing."""
    facts = DType(dtype).facts
    smallest = kind == "absmax"  # of no absolute values
    kind = joiner(kind).removesuffix(".nan")
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


def join(kind: str, total: Expr, value: Expr) -> Expr:
    """``total`` joined with one more value (vectors: lane by lane). A NaN in max and min is passed over."""
    if kind.endswith(NUMBERS):
        return join_number(kind.removesuffix(NUMBERS), total, value)
    kind = joiner(kind)
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


def join_number(kind: str, total: Expr, value: Expr) -> Expr:
    """As :func:`join`, where ``total`` is a number: one instruction for max and min where there is one."""
    plain = joiner(kind)
    if plain not in ("max", "min") or "float" not in str(total.ty.dtype):
        return join(kind, total, value)
    return (tirx.Max if plain == "max" else tirx.Min)(total, cast(value, str(total.ty.dtype)))


_BITWISE = {"bitand": tirx.BitwiseAnd, "bitor": tirx.BitwiseOr, "bitxor": tirx.BitwiseXor}
_LOGICAL = {"bitand": tirx.And, "bitor": tirx.Or, "bitxor": tirx.NE}
