"""Arithmetic on float32 and float64 that is rounded after each operation, without fused multiply-adds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError, WrongTypeError
from tilecore.ir.build import cast
from tilecore.ir.intrinsics import rounded
from tilecore.ir.nodes import Call, Expr, FloatImm, tirx
from tilecore.language.conversions import convert
from tilecore.language.values import as_expr

_MODES = {"rn": "to nearest even", "rz": "towards zero", "ru": "up", "rd": "down"}


def _check_mode(name: str, mode: str) -> None:
    if mode not in _MODES:
        raise LanguageError(f"T.{name}: Invalid rounding mode {mode!r}", expected=", ".join(_MODES))
    if mode != "rn":
        raise UnsupportedError(
            f"T.{name} does not support rounding {_MODES[mode]} ({mode!r})", expected='"rn", to nearest even'
        )


def _operands(name: str, values: tuple[Any, ...]) -> list[Expr]:
    """The operands in the type of the first that is not a Python number, protected from contraction with others."""
    first = next((as_expr(v) for v in values if not isinstance(v, (int, float))), None)
    kind = str(as_expr(float(values[0])).ty.dtype) if first is None else str(first.ty.dtype)  # type: ignore[arg-type]
    if kind not in ("float32", "float64"):
        raise WrongTypeError(
            f"T.{name} is not defined for {kind}", expected="float32 or float64", hint=f"T.cast(x, {'float32'!r})"
        )
    operands = [convert(value, DType(kind)) for value in values]
    return [value if isinstance(value, FloatImm) else rounded(value) for value in operands]


def _apply(name: str, mode: str, function: Callable[..., Any], *values: Any) -> Expr:
    _check_mode(name, mode)
    return rounded(function(*_operands(name, values)))


def ieee_add(x: Any, y: Any, rounding_mode: str = "rn") -> Expr:
    """x + y, rounded by itself."""
    return _apply("ieee_add", rounding_mode, lambda a, b: a + b, x, y)


def ieee_sub(x: Any, y: Any, rounding_mode: str = "rn") -> Expr:
    """x - y, rounded by itself."""
    return _apply("ieee_sub", rounding_mode, lambda a, b: a - b, x, y)


def ieee_mul(x: Any, y: Any, rounding_mode: str = "rn") -> Expr:
    """x * y, rounded by itself."""
    return _apply("ieee_mul", rounding_mode, lambda a, b: a * b, x, y)


def ieee_fdiv(x: Any, y: Any, rounding_mode: str = "rn") -> Expr:
    """x / y, rounded by itself."""
    return _apply("ieee_fdiv", rounding_mode, lambda a, b: a / b, x, y)


def ieee_fmaf(x: Any, y: Any, z: Any, rounding_mode: str = "rn") -> Expr:
    """x * y + z, rounded once."""
    return _apply(
        "ieee_fmaf", rounding_mode, lambda a, b, c: Call("tirx.fma", [a, b, c], ret_ty=str(a.ty.dtype)), x, y, z
    )


def ieee_frcp(x: Any, rounding_mode: str = "rn") -> Expr:
    """1 / x, rounded by itself."""
    return _apply("ieee_frcp", rounding_mode, lambda a: tirx.const(1.0, str(a.ty.dtype)) / a, x)


def ieee_fsqrt(x: Any, rounding_mode: str = "rn") -> Expr:
    """The square root of x, rounded by itself."""
    return _apply("ieee_fsqrt", rounding_mode, tirx.sqrt, x)


def ieee_frsqrt(x: Any) -> Expr:
    """1 / sqrt(x) for float32, rounded once to nearest even."""
    (value,) = _operands("ieee_frsqrt", (x,))
    if str(value.ty.dtype) != "float32":
        raise UnsupportedError("T.ieee_frsqrt is not defined for float64", expected="float32")
    unit = tirx.const(1.0, "float64")
    return rounded(cast(unit / tirx.sqrt(cast(value, "float64")), "float32"))
