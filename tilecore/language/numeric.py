"""Arithmetic on values: mathematical functions, casts, limits, choices."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

from tilecore.caller import placed
from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError, WrongTypeError
from tilecore.ir.build import const, constant
from tilecore.ir.contraction import FUSED
from tilecore.ir.contraction import fma as fused
from tilecore.ir.nodes import Call, Expr, tirx
from tilecore.ir.nodes import Select as IRSelect
from tilecore.language.arithmetic import MOST, binary, inverted
from tilecore.language.arithmetic import power as integer_power
from tilecore.language.conditions import as_condition, select
from tilecore.language.conversions import convert, ir_dtype, number_of, unify
from tilecore.language.integers import whole_number
from tilecore.language.keywords import also_named
from tilecore.language.lanes import cast_vector, reinterpret_vector
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.current import current
from tilecore.tracing.vectors import lane_of


def _kind(expression: Expr) -> DType:
    return DType(str(expression.ty.dtype))


def _unary(
    name: str, doc: str, plain: Callable[[float], float] | None = None, integers: bool = False, rounds: bool = False
) -> Any:
    """A function of one number. integers: it is of integers alone. rounds: it is the identity of an integer."""

    def function(x: Any) -> Any:
        if isinstance(x, numbers.Real) and plain is not None:
            return plain(x)  # type: ignore[arg-type]
        value = number_of(x)
        if integers and not _kind(value).is_integer:
            raise WrongTypeError(f"T.{name} is not defined for {_kind(value)}", found=str(value), expected="an integer")
        if not integers and not _kind(value).is_float:
            if rounds:
                return value
            value = convert(value, "float32")
        return getattr(tirx, name)(value)

    function.__name__ = function.__qualname__ = name
    of_integers = "" if integers else " An integer stays as it is." if rounds else " Integers are taken as float32."
    function.__doc__ = doc + of_integers
    return function


exp = _unary("exp", "e to the power x.", math.exp)
exp2 = _unary("exp2", "2 to the power x.", lambda x: 2.0**x)
exp10 = _unary("exp10", "10 to the power x.", lambda x: 10.0**x)
log = _unary("log", "Natural logarithm.", math.log)
log2 = _unary("log2", "Logarithm to base 2.", math.log2)
log10 = _unary("log10", "Logarithm to base 10.", math.log10)
log1p = _unary("log1p", "log(1 + x), accurate near 0.", math.log1p)
sin = _unary("sin", "Sine of x in radians.", math.sin)
cos = _unary("cos", "Cosine of x in radians.", math.cos)
tan = _unary("tan", "Tangent of x in radians.", math.tan)
asin = _unary("asin", "Arc sine.", math.asin)
acos = _unary("acos", "Arc cosine.", math.acos)
atan = _unary("atan", "Arc tangent.", math.atan)
sinh = _unary("sinh", "Hyperbolic sine.", math.sinh)
cosh = _unary("cosh", "Hyperbolic cosine.", math.cosh)
tanh = _unary("tanh", "Hyperbolic tangent.", math.tanh)
asinh = _unary("asinh", "Inverse hyperbolic sine.", math.asinh)
acosh = _unary("acosh", "Inverse hyperbolic cosine.", math.acosh)
atanh = _unary("atanh", "Inverse hyperbolic tangent.", math.atanh)
erf = _unary("erf", "The error function.", math.erf)
sqrt = _unary("sqrt", "Square root.", math.sqrt)
rsqrt = _unary("rsqrt", "1 / sqrt(x).", lambda x: 1.0 / math.sqrt(x))
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x)).", lambda x: 1.0 / (1.0 + math.exp(-x)))
floor = _unary("floor", "The largest whole number that is at most x, in x's type.", math.floor, rounds=True)
ceil = _unary("ceil", "The smallest whole number that is at least x, in x's type.", math.ceil, rounds=True)
trunc = _unary("trunc", "x without its fraction, in x's type.", math.trunc, rounds=True)
_to_even = _unary("round", "The nearest whole number in x's type; halves go to the even one.", rounds=True)
nearbyint = _unary("nearbyint", "The nearest whole number in x's type; halves go to the even one.", rounds=True)
popcount = _unary("popcount", "The number of bits that are 1.", integers=True)
clz = _unary("clz", "The number of leading 0 bits.", integers=True)


def round(x: Any, rounding_mode: str = "ties-to-even") -> Any:
    """The nearest whole number in x's type. Halves go to the even one, or, with the rounding mode
    "ties-away-from-zero", to the one that is further from 0. An integer stays as it is."""
    if rounding_mode not in ("ties-to-even", "ties-away-from-zero"):
        raise LanguageError(
            f"T.round: the rounding mode {rounding_mode!r} is unknown",
            expected='"ties-to-even" or "ties-away-from-zero"',
        )
    if rounding_mode == "ties-to-even":
        return _to_even(x)
    value = number_of(x)
    if not _kind(value).is_float:
        return value
    whole = trunc(value)
    return select(abs(value - whole) >= 0.5, whole + copysign(1.0, value), whole)


def fast_rcp(x: Any) -> Expr:
    """1 / x of a float, which need not be exact: targets divide as for ``/``."""
    value = number_of(x)
    return binary("truediv", tirx.const(1.0, str(value.ty.dtype)), value)


def abs(x: Any) -> Any:
    """The absolute value."""
    if isinstance(x, numbers.Real):
        return x if x >= 0 else -x  # type: ignore[operator]
    value = number_of(x)
    kind = _kind(value)
    if kind.facts.kind in ("uint", "bool"):
        return value
    return _call("fabs", value) if kind.bits <= 8 and kind.is_float else tirx.abs(value)


def _call(name: str, *args: Expr) -> Expr:
    """An intrinsic by name, for element types that TVM's own function of that name refuses."""
    return Call(f"tirx.{name}", list(args), ret_ty=str(_kind(args[0])))


def _test(name: str, doc: str) -> Any:
    def function(x: Any) -> Expr:
        value = number_of(x)
        if not _kind(value).is_float:
            raise WrongTypeError(f"T.{name} is not defined for {_kind(value)}", expected="a float")
        narrow = _kind(value).facts.is_narrow and _kind(value).facts.in_ml_dtypes  # TVM refuses them
        return getattr(tirx, name)(convert(value, "float32") if narrow else value)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


isnan = _test("isnan", "Is x not a number?")
isinf = _test("isinf", "Is x plus or minus infinity?")
isfinite = _test("isfinite", "Is x neither infinite nor not a number?")


def _of_floats(name: str, x: Any, y: Any) -> Expr:
    """The function ``name`` of two floats; integers are taken as float32."""
    left, right = unify(x, y)
    if not _kind(left).is_float:
        left, right = convert(left, "float32"), convert(right, "float32")
    return _call(name, left, right)


def _binary(name: str, doc: str) -> Any:
    def function(x: Any, y: Any) -> Expr:
        return _of_floats(name, x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _numbered(name: str, doc: str) -> Any:
    """As ``_binary``, with the parameters that TVM calls x1 and x2."""

    @also_named(x="x1", y="x2")
    def function(x1: Any, x2: Any) -> Expr:
        return _of_floats(name, x1, x2)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def pow(x: Any, y: Any) -> Expr:
    """x to the power y. The power of an integer is exact in its type, and wraps as products do, where y is a whole
    number from 0 to 64 that is known when compiling; other integers are taken as float32."""
    exponent = constant(int(y) if isinstance(y, numbers.Integral) else y)
    if exponent is not None and 0 <= exponent <= MOST and is_kernel_value(x):
        base = number_of(x)
        if _kind(base).is_integer:
            return integer_power(base, exponent)
        x = base
    return _of_floats("pow", x, y)


power = pow
fmod = _binary("fmod", "The remainder of x / y; it has the sign of x.")
atan2 = _numbered("atan2", "The angle of the point (x2, x1) in radians: atan2(y, x) of the point (x, y).")
copysign = _numbered("copysign", "The size of x1 with the sign of x2.")
hypot = _numbered("hypot", "sqrt(x1*x1 + x2*x2) without overflow.")
nextafter = _numbered("nextafter", "The float after x1 in the direction of x2.")
ldexp = _numbered("ldexp", "x1 times 2 to the power x2.")


def _extreme(name: str, plain: Callable[..., Any]) -> Any:
    def function(a: Any, b: Any, *more: Any) -> Any:
        if isinstance(a, numbers.Real) and isinstance(b, numbers.Real):
            result: Any = plain(a, b)
        else:
            result = getattr(tirx, name)(*unify(a, b))
        return function(result, *more) if more else result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name}imum of the arguments, in their common type."
    return function


max = _extreme("max", max)
min = _extreme("min", min)


def clamp(dst: Any, min_val: Any, max_val: Any) -> Any:
    """``dst`` limited to [min_val, max_val]."""
    return min(max(dst, min_val), max_val)


@also_named(a="x", b="y", c="z")
def fma(x: Any, y: Any, z: Any) -> Expr:
    """x * y + c; of floats rounded once where the target can."""
    x, y = unify(x, y)
    x, z = unify(x, z)
    y = convert(y, str(_kind(x)))
    return fused(x, y, z) if str(_kind(x)) in FUSED else x * y + z


def if_then_else(cond: Any, t: Any, f: Any) -> Any:
    """``t`` where ``cond`` holds, else ``f``; only the chosen one is evaluated."""
    if not is_kernel_value(cond):
        return t if cond else f
    return select(cond, t, f)


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where ``condition`` holds, else ``b``, of one element: T.if_then_else by the name that torch has for it."""
    return if_then_else(condition, a, b)


def Select(condition: Any, true_value: Any, false_value: Any) -> Expr:
    """As T.if_then_else, but both values are evaluated."""
    a, b = unify(true_value, false_value)
    return IRSelect(as_condition(condition), a, b)


def cast(value: Any, dtype: Any, round: str = "", sat: bool = True, rbits: Any = None) -> Expr:
    """``value`` converted to ``dtype``.

    Float to integer truncates; out of range saturates and NaN gives 0. Float to narrower float rounds to nearest
    even; to float8 it saturates at the largest finite value. ``round`` and ``rbits`` other than the default are a
    chip's own.
    """
    _check_unary(round, sat, rbits)
    kind = DType(dtype)
    return convert(value, str(kind)) if kind.lanes == 1 else cast_vector(value, kind)


def _check_unary(round: Any, sat: Any, rbits: Any) -> None:
    """Raises LanguageError for options of T.cast that contradict each other, UnsupportedError for those of one chip."""
    if round not in _ROUNDINGS:
        raise LanguageError(f"T.cast: Invalid round {round!r}", expected=", ".join(map(repr, _ROUNDINGS)))
    if not isinstance(sat, bool):
        raise LanguageError(f"T.cast: Invalid sat {sat!r}", expected="True or False")
    if (rbits is None) == (round == "rs"):
        fault = "rbits is required with" if rbits is None else "rbits is only valid with"
        raise LanguageError(f"T.cast: {fault} round='rs', stochastic rounding", found=f"round={round!r}, rbits={rbits}")
    if round not in ("", "rn") or not sat:
        raise UnsupportedError(
            "T.cast rounds to nearest even and saturates; other modes are options of one chip",
            found=f"round={round!r}, sat={sat}",
            expected="T.cast(x, dtype)",
            hint="T.floor, T.ceil, T.trunc and T.round round to integers; T.clamp limits a value",
        )


_ROUNDINGS = ("", "rn", "rz", "rp", "rm", "rs")


def Cast(dtype: Any, value: Any, annotations: Mapping[str, Any] | None = None) -> Expr:
    """T.cast with its arguments the other way round. annotations: how to round, by T.cast's names."""
    return cast(value, dtype, **{str(name): setting for name, setting in (annotations or {}).items()})


def reinterpret(value: Any, dtype: Any) -> Any:
    """The bits of ``value`` as another type of as many bits, an element type or a vector type; the first lane has the
    lowest bits. ``T.reinterpret(dtype, value)`` works too."""
    if isinstance(value, str) and not isinstance(dtype, str):
        value, dtype = dtype, value
    if str(dtype) == "handle":
        from tilecore.language.script import Opaque

        return Opaque()
    return reinterpret_vector(value, DType(dtype))


@placed
def infinity(dtype: Any) -> Expr:
    """Plus infinity; for a type that has none, such as float8_e4m3fn, an error."""
    kind = DType(dtype)
    if not kind.is_float or not kind.facts.has_infinity:
        raise LanguageError(f"{kind} has no infinity", hint=f"use T.max_value({str(kind)!r})")
    return tirx.const(float("inf"), ir_dtype(kind))


@placed
def max_value(dtype: Any) -> Expr:
    """The largest finite value of an element type."""
    return _limit(DType(dtype), largest=True)


@placed
def min_value(dtype: Any) -> Expr:
    """The smallest (most negative) finite value of an element type."""
    return _limit(DType(dtype), largest=False)


def _limit(kind: DType, largest: bool) -> Expr:
    facts = kind.facts
    if facts.kind == "float":
        return const(facts.max if largest else -facts.max, ir_dtype(kind))  # type: ignore[operator]
    if facts.kind == "bool":
        return tirx.const(largest, "bool")
    signed = facts.kind == "int"
    high = 2 ** (facts.bits - signed) - 1
    return tirx.const(high if largest else (-high - 1 if signed else 0), str(kind))


@also_named(a="x", b="y")
def bitwise_and(x: Any, y: Any) -> Expr:
    return binary("and", x, y)


@also_named(a="x", b="y")
def bitwise_or(x: Any, y: Any) -> Expr:
    return binary("or", x, y)


@also_named(a="x", b="y")
def bitwise_xor(x: Any, y: Any) -> Expr:
    return binary("xor", x, y)


@also_named(a="x")
def bitwise_not(x: Any) -> Expr:
    return inverted(x)


def Ramp(base: Any, stride: Any, lanes: int) -> Expr:
    """The vector base, base + stride, ... of ``lanes`` values: ``B[T.Ramp(j, 1, 4)] = A[T.Ramp(i, 1, 4)]``.

    All lanes are read before the first one is written. A statement has vectors of one length.
    """
    builder = current("T.Ramp")
    lanes = whole_number(lanes, "T.Ramp(lanes=...)", 1)
    start = as_expr(base)
    return start + as_expr(stride) * convert(lane_of(builder, lanes), str(start.ty.dtype))


@also_named(condition="cond")
def likely(cond: Any) -> Expr:
    """A condition that the compiler may assume mostly holds."""
    return as_condition(cond)


@also_named(name="func_name")
def call_intrin(dtype: Any, func_name: str, *args: Any) -> Expr:
    """A call of a TVM intrinsic by name; targets that do not know it say so."""
    return Call(func_name, [as_expr(a) for a in args], ret_ty=ir_dtype(dtype))
