"""Arithmetic that is rounded after each operation: no product is merged with a sum around it. float32 and float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.ir.build import cast
from tilecore.ir.intrinsics import rounded
from tilecore.ir.nodes import Call, Expr, FloatImm, tirx
from tilecore.language.values import as_expr, convert

_MODES = {"rn": "to nearest even", "rz": "towards zero", "ru": "up", "rd": "down"}


def _check_mode(name: str, mode: str) -> None:
    if mode not in _MODES:
        raise LanguageError(f"T.{name}: rounding_mode {mode!r}", expected=", ".join(_MODES))
    if mode != "rn":
        raise UnsupportedError(f"T.{name}: rounding {_MODES[mode]} ({mode!r})", expected='"rn", to nearest even')


def _operands(name: str, values: tuple[Any, ...]) -> list[Expr]:
    """The operands in the type of the first that is no Python number; kept apart from what they are made of."""
    first = next((as_expr(v) for v in values if not isinstance(v, (int, float))), None)
    kind = str(as_expr(float(values[0])).ty.dtype) if first is None else str(first.ty.dtype)  # type: ignore[arg-type]
    if kind not in ("float32", "float64"):
        raise LanguageError(f"T.{name} of {kind}", expected="float32 or float64", hint=f"T.cast(x, {'float32'!r})")
    made = [convert(value, DType(kind)) for value in values]
    return [value if isinstance(value, FloatImm) else rounded(value) for value in made]


def _operation(name: str, doc: str, count: int, function: Callable[..., Any]) -> Callable[..., Expr]:
    def operate(*values: Any) -> Expr:
        *operands, mode = values if len(values) > count else (*values, "rn")
        if len(operands) != count:
            raise LanguageError(f"T.{name} takes {count} values", found=str(len(operands)))
        _check_mode(name, mode)
        return rounded(function(*_operands(name, tuple(operands))))

    def one(x: Any, rounding_mode: str = "rn") -> Expr:
        return operate(x, rounding_mode)

    def two(x: Any, y: Any, rounding_mode: str = "rn") -> Expr:
        return operate(x, y, rounding_mode)

    def three(x: Any, y: Any, z: Any, rounding_mode: str = "rn") -> Expr:
        return operate(x, y, z, rounding_mode)

    made = (one, two, three)[count - 1]
    made.__name__ = name
    made.__doc__ = f"{doc}, rounded to nearest even and not merged with other operations. float32 or float64."
    return made


def _product_plus(x: Any, y: Any, z: Any) -> Expr:
    return Call("tirx.fma", [x, y, z], ret_ty=str(x.ty.dtype))


ieee_add = _operation("ieee_add", "x + y", 2, lambda x, y: x + y)
ieee_sub = _operation("ieee_sub", "x - y", 2, lambda x, y: x - y)
ieee_mul = _operation("ieee_mul", "x * y", 2, lambda x, y: x * y)
ieee_fdiv = _operation("ieee_fdiv", "x / y", 2, lambda x, y: x / y)
ieee_fmaf = _operation("ieee_fmaf", "x * y + z, rounded once", 3, _product_plus)
ieee_frcp = _operation("ieee_frcp", "1 / x", 1, lambda x: tirx.const(1.0, str(x.ty.dtype)) / x)
ieee_fsqrt = _operation("ieee_fsqrt", "The square root of x", 1, tirx.sqrt)


def ieee_frsqrt(x: Any) -> Expr:
    """1 / sqrt(x) for float32, rounded once to nearest even."""
    (value,) = _operands("ieee_frsqrt", (x,))
    if str(value.ty.dtype) != "float32":
        raise UnsupportedError("T.ieee_frsqrt of float64", expected="float32")
    one = tirx.const(1.0, "float64")
    return rounded(cast(one / tirx.sqrt(cast(value, "float64")), "float32"))
