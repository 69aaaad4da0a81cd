"""Arithmetic that is rounded after each operation, in a rounding mode that the program names: T.ieee_add and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError, WrongTypeError
from tilecore.ir.build import cast
from tilecore.ir.intrinsics import directed, rounded
from tilecore.ir.nodes import Call, Expr, FloatImm, tirx
from tilecore.language.conversions import convert
from tilecore.language.values import as_expr

_MODES = {"rn": "to nearest even", "rz": "towards zero", "ru": "up", "rd": "down"}
_HALVES = ("float16", "bfloat16")
_TYPES = ("float32", "float64", *_HALVES)


def _check_mode(name: str, mode: Any) -> None:
    if isinstance(mode, str) and mode in _MODES:
        return
    expected = ", ".join(f"{word!r} ({meaning})" for word, meaning in _MODES.items())
    hint = f"write T.{name}(..., rounding_mode='rn'), which is also what it rounds to without rounding_mode"
    raise LanguageError(f"T.{name}: Invalid rounding mode {mode!r}", expected=expected, hint=hint)


def _operands(name: str, mode: str, values: tuple[Any, ...]) -> list[Expr]:
    """The operands in the type of the first that is not a Python number, protected from contraction with others."""
    first = next((as_expr(v) for v in values if not isinstance(v, (int, float))), None)
    kind = str(as_expr(float(values[0])).ty.dtype) if first is None else str(first.ty.dtype)  # type: ignore[arg-type]
    if kind not in _TYPES:
        hint = f"T.{name}(T.cast(x, 'float32'), ...)"
        raise WrongTypeError(f"T.{name} is not defined for {kind}", expected=", ".join(_TYPES), hint=hint)
    if kind in _HALVES and mode != "rn":
        raise UnsupportedError(
            f"T.{name}: Only rounding mode 'rn' is available for half precision",
            found=f"rounding mode {mode!r} ({_MODES[mode]}) of {kind}",
            expected="rounding mode 'rn' (to nearest even)",
            hint=f"compute it in float32: T.{name}(T.cast(x, 'float32'), ..., {mode!r})",
        )
    operands = [convert(value, DType(kind)) for value in values]
    return [value if isinstance(value, FloatImm) else rounded(value) for value in operands]


def _apply(name: str, operation: str, mode: str, function: Callable[..., Any], *values: Any) -> Expr:
    """``function`` of the values to nearest even, or ``operation`` of thread IR in another rounding mode."""
    _check_mode(name, mode)
    operands = _operands(name, mode, values)
    return rounded(function(*operands)) if mode == "rn" else directed(mode, operation, operands)


def ieee_add(x: Any, y: Any, rounding_mode: str = "rn") -> Expr:
    """x + y, rounded by itself."""
    return _apply("ieee_add", "add", rounding_mode, _in_single(lambda a, b: a + b), x, y)


def ieee_sub(x: Any, y: Any, rounding_mode: str = "rn") -> Expr:
    """x - y, rounded by itself."""
    return _apply("ieee_sub", "sub", rounding_mode, _in_single(lambda a, b: a - b), x, y)


def ieee_mul(x: Any, y: Any, rounding_mode: str = "rn") -> Expr:
    """x * y, rounded by itself."""
    return _apply("ieee_mul", "mul", rounding_mode, _in_single(lambda a, b: a * b), x, y)


def ieee_fdiv(x: Any, y: Any, rounding_mode: str = "rn") -> Expr:
    """x / y, rounded by itself."""
    return _apply("ieee_fdiv", "div", rounding_mode, _in_single(lambda a, b: a / b), x, y)


def ieee_fmaf(x: Any, y: Any, z: Any, rounding_mode: str = "rn") -> Expr:
    """x * y + z, rounded once."""
    return _apply("ieee_fmaf", "fma", rounding_mode, _fma, x, y, z)


def _fma(a: Any, b: Any, c: Any) -> Expr:
    return Call("tirx.fma", [a, b, c], ret_ty=str(a.ty.dtype))


def ieee_frcp(x: Any, rounding_mode: str = "rn") -> Expr:
    """1 / x, rounded by itself."""
    return _apply("ieee_frcp", "rcp", rounding_mode, _in_single(_reciprocal), x)


def _reciprocal(a: Any) -> Expr:
    return tirx.const(1.0, str(a.ty.dtype)) / a


def ieee_fsqrt(x: Any, rounding_mode: str = "rn") -> Expr:
    """The square root of x, rounded by itself."""
    return _apply("ieee_fsqrt", "sqrt", rounding_mode, _in_single(tirx.sqrt), x)


def _in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of 16-bit floats by way of float32, whose 24 bits are at least two more than twice their 11 or 8:
    rounding to float32 first is then as rounding once (S. A. Figueroa, "When is double rounding innocuous?", ACM SIGNUM
    Newsletter 30, 1995). Casts round, where a target may otherwise keep more digits than a 16-bit float has."""

    def apply(*operands: Any) -> Expr:
        kind = str(operands[0].ty.dtype)
        if kind not in _HALVES:
            return function(*operands)  # type: ignore[no-any-return]
        return cast(rounded(function(*(cast(value, "float32") for value in operands))), kind)

    return apply


def ieee_frsqrt(x: Any) -> Expr:
    """1 / sqrt(x) of a float32, float16 or bfloat16, rounded once to nearest even."""
    (value,) = _operands("ieee_frsqrt", "rn", (x,))
    kind = str(value.ty.dtype)
    if kind == "float64":
        message = "T.ieee_frsqrt: frsqrt is not supported for float64"
        hint = "T.ieee_frcp(T.ieee_fsqrt(x)), which rounds twice"
        raise UnsupportedError(message, expected="float32, float16 or bfloat16", hint=hint)
    # tried on every number: no result in the wider type is so near to the middle of two numbers that it rounds wrongly
    wide = "float32" if kind in _HALVES else "float64"
    root = rounded(tirx.sqrt(cast(value, wide)))
    return rounded(cast(rounded(_reciprocal(root)), kind))
