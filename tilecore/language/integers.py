"""Integer helpers that work on Python ints (without importing TVM) and on expressions alike."""

from __future__ import annotations

import numbers
from typing import Any

from tilecore.caller import placed
from tilecore.errors import LanguageError, WrongTypeError
from tilecore.language.keywords import also_named
from tilecore.language.symbols import ConstDim

_PLAIN = (numbers.Integral, ConstDim)


def whole_number(value: Any, subject: str, least: int | None = None) -> int:
    """``value`` as a Python int. Raises LanguageError, in which ``subject`` names it, if it is not an integer that is
    known when compiling, or is less than ``least``."""
    expected = "an int that is known when compiling" + ("" if least is None else f", at least {least}")
    number = getattr(value, "value", value) if type(value).__name__ in ("IntImm", "ConstDim") else value
    if isinstance(number, bool) or not isinstance(number, numbers.Integral):
        raise WrongTypeError(f"{subject} is not an int", found=repr(value)[:80], expected=expected)
    if least is not None and int(number) < least:
        raise LanguageError(f"{subject} is {int(number)}", expected=expected)
    return int(number)


@placed
def ceildiv(lhs: Any, rhs: Any) -> Any:
    """``lhs / rhs`` rounded up."""
    if isinstance(rhs, _PLAIN) and int(rhs) == 0:
        raise LanguageError("T.ceildiv divides by zero", found=f"{lhs} / 0")
    if isinstance(lhs, _PLAIN) and isinstance(rhs, _PLAIN):
        return -(-_number(lhs) // _number(rhs))
    from tilecore.language.values import as_expr

    a, b = as_expr(lhs), as_expr(rhs)
    return (a + b - 1) // b


def _number(value: Any) -> Any:
    """``value`` as a Python int; a T.const that has no value yet stays a ConstDim."""
    return value if isinstance(value, ConstDim) and not value.is_known else int(value)


cdiv = ceildiv


@placed
@also_named(value="x", alignment="y")
def align_up(x: Any, y: Any) -> Any:
    """The smallest multiple of ``y`` that is at least ``x``."""
    return ceildiv(x, y) * y


def floordiv(a: Any, b: Any) -> Any:
    """``a / b`` rounded towards minus infinity."""
    return a // b


def floormod(a: Any, b: Any) -> Any:
    """The remainder of :func:`floordiv`; it has the sign of ``b``."""
    return a % b


@placed
def truncdiv(a: Any, b: Any) -> Any:
    """``a / b`` rounded towards zero, as C's ``/``."""
    if isinstance(b, _PLAIN) and int(b) == 0:
        raise LanguageError("T.truncdiv divides by zero", found=f"{a} / 0")
    if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
        quotient = abs(int(a)) // abs(int(b))
        return quotient if (int(a) < 0) == (int(b) < 0) else -quotient
    from tilecore.ir.nodes import tirx
    from tilecore.language.conversions import unify

    return tirx.truncdiv(*unify(a, b))


def truncmod(a: Any, b: Any) -> Any:
    """The remainder of :func:`truncdiv`; it has the sign of ``a``."""
    return a - truncdiv(a, b) * b


@placed
def next_power_of_2(x: int) -> int:
    """The smallest power of two that is at least ``x``."""
    x = whole_number(x, "the argument of T.next_power_of_2")
    return 1 if x <= 1 else 1 << (int(x) - 1).bit_length()


@also_named(a="x", b="y")
def shift_left(x: Any, y: Any) -> Any:
    return x << y


@also_named(a="x", b="y")
def shift_right(x: Any, y: Any) -> Any:
    return x >> y


def index_to_coordinates(index: Any, shape: Any) -> list[Any]:
    """The coordinates of element ``index`` of a tile of this shape, counted row by row."""
    coordinates = []
    for size in reversed(list(shape)):
        coordinates.append(index % size)
        index = index // size
    return list(reversed(coordinates))
