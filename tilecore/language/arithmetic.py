"""Operators of expressions, such as ``+``, with the same rule for element types as T.max and the like.

TVM's operators do the work on operands of one type. Cases that TVM refuses, or in which it loses values, are handled
here first.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tilecore.dtypes import dtype
from tilecore.errors import LanguageError, WrongTypeError
from tilecore.ir.expression_classes import PrimExpr
from tilecore.ir.nodes import Expr, ExprOperand, ExprOperator, FloatImm, IntImm, Var, is_buffer_var, tirx
from tilecore.language.conversions import convert, number_of, unify
from tilecore.language.values import SIGNS, KernelValue, as_expr, no_key
from tilecore.tracing.current import active, current

# of floats: the node, and the operation on numbers that are known when compiling
_FLOATS: dict[str, tuple[Callable[..., Expr], Any]] = {
    "add": (tirx.Add, np.add),
    "sub": (tirx.Sub, np.subtract),
    "mul": (tirx.Mul, np.multiply),
    "truediv": (tirx.Div, np.divide),
}
_NUMBERS = ("add", "sub", "mul", "floordiv", "mod")  # of bools they are those of int32
_WRAPPING: dict[str, Callable[[int, int], int]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
_INTEGERS = {
    "floordiv": "T.floor(a / b)",
    "mod": "T.fmod(a, b), which has the sign of a, or a - T.floor(a / b) * b",
    **dict.fromkeys(("lshift", "rshift"), 'T.ldexp(a, n), or T.reinterpret(a, "uint32") for its bits'),
    **dict.fromkeys(("and", "or", "xor"), 'T.reinterpret(a, "uint32") for its bits; `and` and `or` join conditions'),
}
_TVM: dict[str, Callable[..., Any]] = {word: getattr(ExprOperand, f"__{word}__") for word in (*SIGNS, "invert", "neg")}
MOST = 64  # the largest power that is multiplied out


class NoPythonNumberError(WrongTypeError):
    """Python needs a number but got a value of the kernel; a TypeError, as in Python."""


def binary(word: str, left: Any, right: Any) -> Expr:
    """``left <sign> right`` in the type that holds both."""
    a, b = unify(left, right)
    kind = dtype(str(a.ty.dtype))
    if kind == "bool" and word in _NUMBERS:
        a, b, kind = convert(a, "int32"), convert(b, "int32"), dtype("int32")
    if kind.is_float and word in _INTEGERS:
        raise WrongTypeError(
            f"`{SIGNS[word]}` is applied to floats",
            found=f"{a} {SIGNS[word]} {b}, of {kind}",
            expected="integers" if word in ("floordiv", "mod") else "integers or bool",
            hint=_INTEGERS[word],
        )
    if word == "truediv" and not kind.is_float:
        raise LanguageError(
            "`/` divides two integers of the kernel",
            found=f"{a} / {b}, of {kind}",
            hint='`//` rounds down; T.cast(a, "float32") / b divides as floats',
        )
    if word in ("floordiv", "mod") and isinstance(b, IntImm) and int(b) == 0:
        raise LanguageError("division by zero", found=f"{a} {SIGNS[word]} 0")
    if word in _WRAPPING and isinstance(a, IntImm) and isinstance(b, IntImm):
        return convert(kind.facts.wrapped(_WRAPPING[word](int(a), int(b))), kind)  # TVM refuses what is out of range
    if kind.is_float and word in _FLOATS:
        return _of_floats(word, a, b)
    return _TVM[word](a, b)


def _of_floats(word: str, a: Expr, b: Expr) -> Expr:
    """An operation of floats as it stands. TVM's own operators take 0 for x * 0, and x for x + 0, which infinity, NaN
    and -0 are not."""
    node, ieee = _FLOATS[word]
    exact = {"float32": np.float32, "float64": np.float64}.get(str(a.ty.dtype))
    if exact is not None and isinstance(a, FloatImm) and isinstance(b, FloatImm):
        with np.errstate(all="ignore"):
            return FloatImm(str(a.ty.dtype), float(ieee(exact(a.value), exact(b.value))))
    if word == "truediv" and isinstance(b, FloatImm) and b.value == 0:  # which TVM does not print; it is the same
        kind = dtype(str(b.ty.dtype))
        sign = 1.0 if kind.facts.unsigned_zero else b.value
        if kind.bits > 8:
            return tirx.Mul(a, FloatImm(kind, math.copysign(math.inf, sign)))
        wide = tirx.Mul(convert(a, "float32"), FloatImm("float32", math.copysign(math.inf, sign)))
        return convert(wide, kind)  # the infinity of an 8-bit float would be its largest number
    return node(a, b)


def power(base: Any, exponent: Any) -> Expr:
    """``base ** exponent``: a product for exponents that are whole numbers, else T.pow of floats."""
    whole = isinstance(exponent, (numbers.Integral, IntImm))
    if whole and 0 <= int(exponent) <= MOST:
        return _product(number_of(base), int(exponent))
    from tilecore.language.numeric import pow as float_power

    a, b = unify(base, exponent)
    if not dtype(str(a.ty.dtype)).is_float:
        raise WrongTypeError(
            "`**` is applied to integers",
            found=f"{base} ** {exponent}, of {a.ty.dtype}",
            expected=f"an exponent from 0 to {MOST} that is known when compiling",
            hint="1 << n is 2 ** n; T.pow(a, b) works in float32",
        )
    return float_power(a, b)


def _product(base: Expr, exponent: int) -> Expr:
    """``base`` to a power by squaring; its value is computed once."""
    kind = str(base.ty.dtype)
    if exponent == 0:
        return convert(1, kind)
    name = current("`**`")
    is_leaf = isinstance(base, (Var, IntImm, FloatImm)) and base not in name.readings
    value = base if is_leaf else name.bind("base", base)
    product: Any = None
    while True:
        if exponent & 1:
            product = value if product is None else binary("mul", product, value)
        exponent >>= 1
        if not exponent:
            return product
        value = name.bind("power", binary("mul", value, value))


def negative(value: Any) -> Expr:
    """``-value``; of an unsigned integer it wraps, and of a bool it is an int32."""
    a = number_of(value)
    kind = dtype(str(a.ty.dtype))
    if kind == "bool":
        a = convert(a, "int32")
    elif kind.facts.kind == "uint":
        return binary("sub", convert(0, kind), a)
    elif kind.facts.unsigned_zero:  # TVM multiplies by -1, which it refuses for them
        return tirx.Sub(convert(0, kind), a)
    elif kind.bits <= 8 and isinstance(a, FloatImm) and math.isinf(a.value):  # a product would saturate
        return FloatImm(kind, -a.value)
    return _TVM["neg"](a)


def inverted(value: Any) -> Expr:
    """``~value``"""
    a = number_of(value)
    if dtype(str(a.ty.dtype)).is_float:
        raise WrongTypeError(f"`~` is applied to {a.ty.dtype}", found=str(a), expected="an integer or a bool")
    return _TVM["invert"](a)


def absolute(value: Any) -> Expr:
    from tilecore.language.numeric import abs as absolute_value

    return absolute_value(as_expr(value))


def as_type(value: Any, dtype: Any, span: Any = None) -> Any:
    """``value.astype(dtype)``: T.cast(value, dtype)."""
    from tilecore.language.numeric import cast

    return cast(value, dtype)


def rounded(value: Any, digits: Any = None) -> Expr:
    """``round(value)``: the nearest whole number, halves to the even one, in the value's own type."""
    from tilecore.language.numeric import round as nearest

    if digits is not None:
        raise LanguageError(
            "round() of a value of the kernel takes no number of digits",
            hint="write T.round(x * 100.0) / 100.0 for two digits",
        )
    a = number_of(value)
    return nearest(a) if dtype(str(a.ty.dtype)).is_float else a


def no_python_number(word: str, kind: str) -> Callable[[Any], Any]:
    """What ``int(x)`` and the like do with a value that is known only when the kernel runs."""

    def refuse(value: Any) -> Any:
        raise NoPythonNumberError(
            f"{word}() is applied to a value of the kernel",
            found=str(as_expr(value)),
            expected="a value that is known when compiling",
            hint=f'T.cast(x, "{kind}") converts it in the kernel',
        )

    return refuse


def _applies(*values: Any) -> bool:
    """Is a kernel being built, and are these values of elements, not vectors?"""
    return active() is not None and all(
        not isinstance(value, Expr) or getattr(getattr(value.ty, "dtype", None), "lanes", 1) == 1 for value in values
    )


def _install() -> None:
    """Give TVM's expressions these operators while a kernel is built; at other times they keep TVM's."""
    for kind in (ExprOperand, ExprOperator):
        for word in SIGNS:
            _replace(kind, f"__{word}__", lambda a, b, word=word: binary(word, a, b))
            if word not in ("lt", "le", "gt", "ge"):
                _replace(kind, f"__r{word}__", lambda a, b, word=word: binary(word, b, a))
        for name, function in METHODS.items():
            _replace(kind, name, function)
        _replace(kind, "__rpow__", lambda a, b: power(b, a))
    for name in ("__getitem__", "__iter__"):
        _replace(ExprOperand, name, no_elements)
    of_buffer = Var.dtype
    Expr.dtype = property(_element_type)
    Var.dtype = property(lambda var: of_buffer.fget(var) if is_buffer_var(var) else _element_type(var))


def _element_type(value: Expr) -> dtype:
    """``value.dtype``: the type of an expression, as programs ask for it."""
    kind = getattr(value.ty, "dtype", None)
    if kind is None:
        raise AttributeError(f"{type(value).__name__} has no element type: {value.ty}")
    return dtype(str(kind))


def _keeping_bits(plain: Callable[..., Any]) -> Callable[..., Any]:
    """TVM's operator on bits, which would drop those of a Python number beyond the 32 lowest."""

    def method(self: Any, number: Any) -> Any:
        if isinstance(number, int) and not -(2**31) <= number < 2**31:
            kind = dtype(str(self.ty.dtype))
            low, high = kind.facts.integer_range if kind.is_integer else (0, 0)
            number = IntImm(str(kind) if low <= number <= high else "int64", number)
        return plain(self, number)

    return method


def _replace(kind: type, name: str, override: Callable[..., Any]) -> None:
    plain = getattr(kind, name, None)
    if plain is not None and name.strip("_").removeprefix("r") in ("and", "or", "xor"):
        plain = _keeping_bits(plain)

    def method(self: Any, *others: Any) -> Any:
        if _applies(self, *others):
            return override(self, *others)
        if plain is None:
            raise TypeError(f"{type(self).__name__} has no {name}")
        return plain(self, *others)

    setattr(kind, name, method)


def quotient_and_remainder(a: Any, b: Any) -> tuple[Expr, Expr]:
    """``divmod(a, b)``"""
    return binary("floordiv", a, b), binary("mod", a, b)


def no_elements(value: Any, index: Any = None) -> Any:
    """What ``x[i]``, ``for y in x`` and ``a, b = x`` do with one value."""
    raise WrongTypeError(
        "a value of the kernel is a scalar and has no elements",
        found=str(as_expr(value)),
        expected="a buffer to index, or a Python tuple or list to iterate",
    ).at(current("a value").location)


METHODS: dict[str, Callable[..., Any]] = {
    "__pow__": power,
    "__divmod__": quotient_and_remainder,
    "__rdivmod__": lambda a, b: quotient_and_remainder(b, a),
    "__neg__": negative,
    "__invert__": inverted,
    "__pos__": as_expr,
    "__abs__": absolute,
    "__round__": rounded,
    "astype": as_type,
    "__int__": no_python_number("int", "int32"),
    "__float__": no_python_number("float", "float32"),
}
_install()


@PrimExpr.register
class Arithmetic(KernelValue):
    """Python's operators on a value that becomes an expression when used. lanes: those of a vector."""

    lanes = 1

    def __tvm_ffi_object__(self) -> Expr:
        """TVM's own operators, with this on their right, take it as the expression."""
        return self.expr()

    def __eq__(self, other: Any) -> Any:
        return as_expr(self.expr() == as_expr(other))

    def __ne__(self, other: Any) -> Any:
        return as_expr(self.expr() != as_expr(other))

    def __hash__(self) -> int:
        raise no_key(self)

    def __bool__(self) -> bool:
        raise LanguageError(
            "a value of the kernel is used as a Python condition",
            hint="write `if`, `and`, `or` and `not` directly in the kernel or in a T.macro, or use T.if_then_else",
        )


def _operator(word: str, swapped: bool = False) -> Callable[[Any, Any], Expr]:
    return lambda a, b: binary(word, b, a) if swapped else binary(word, a, b)


for _word in SIGNS:
    setattr(Arithmetic, f"__{_word}__", _operator(_word))
    if _word not in ("lt", "le", "gt", "ge"):
        setattr(Arithmetic, f"__r{_word}__", _operator(_word, swapped=True))
for _name, _function in METHODS.items():
    setattr(Arithmetic, _name, _function)
Arithmetic.__rpow__ = lambda a, b: power(b, a)  # type: ignore[attr-defined]
