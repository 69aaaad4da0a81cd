"""Every elementwise operator and function of the language, and the unit that computes it: a table for tests and for the
docs.

Each takes two values a and b of one element type. Its result is stored as that type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tilecore.language as T

FLOATS = ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
INTEGERS = ("int32", "int16", "int8", "uint32", "uint16", "uint8")
NUMBERS = (*FLOATS, *INTEGERS)
DTYPES = (*NUMBERS, "bool")


@dataclass(frozen=True)
class Operation:
    """text: as it is written. exact: whether floats are equal to the interpreter's, whatever the accuracy of functions.
    on_core: whether the control core does it, element by element. meaning: what the interpreter computes for it, where
    the language leaves that to the target."""

    text: str
    dtypes: tuple[str, ...]
    make: Callable[[Any, Any], Any]
    exact: bool = False
    on_core: bool = False
    meaning: Callable[[Any, Any], Any] | None = None


def _two(name: str) -> Callable[[Any, Any], Any]:
    return lambda a, b: getattr(T, name)(a, b)


def _unary(name: str) -> Callable[[Any, Any], Any]:
    return lambda a, b: getattr(T, name)(a)


def _chosen(test: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: T.if_then_else(test(a, b), a, b)


_ARITHMETIC = (
    Operation("a + b", NUMBERS, lambda a, b: a + b),
    Operation("a - b", NUMBERS, lambda a, b: a - b),
    Operation("a * b", NUMBERS, lambda a, b: a * b),
    Operation("a / b", FLOATS, lambda a, b: a / b),
    Operation("1 / a", FLOATS, lambda a, b: 1 / a),
    Operation("a / 3", FLOATS, lambda a, b: a / 3),
    Operation("a + 3", NUMBERS, lambda a, b: a + 3),
    Operation("a - 3", NUMBERS, lambda a, b: a - 3),
    Operation("3 - a", NUMBERS, lambda a, b: 3 - a),
    Operation("a ** 2", NUMBERS, lambda a, b: a**2),
    Operation("-a", NUMBERS, lambda a, b: -a, exact=True),
    Operation("abs", NUMBERS, _unary("abs"), exact=True),
    Operation("max", NUMBERS, _two("max"), exact=True),
    Operation("min", NUMBERS, _two("min"), exact=True),
    Operation("max(a, 2)", NUMBERS, lambda a, b: T.max(a, 2), exact=True),
    Operation("min(a, 2)", NUMBERS, lambda a, b: T.min(a, 2), exact=True),
    Operation("clamp", NUMBERS, lambda a, b: T.clamp(a, 1, 9), exact=True),
    # the tensor unit rounds the product, too, which the language leaves to a target; a cast ends an expression
    Operation(
        "fma", FLOATS, lambda a, b: T.fma(a, b, a), meaning=lambda a, b: T.cast(T.cast(a * b, "float64"), a.dtype) + a
    ),
)
_COMPARISONS = tuple(
    Operation(f"a {sign} b", NUMBERS, _chosen(test), exact=True)
    for sign, test in {
        "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
        "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
    }.items()
)  # fmt: skip
_CHOICES = (
    Operation("and", NUMBERS, _chosen(lambda a, b: T.all_of(a > b, b > 1)), exact=True),
    Operation("or", NUMBERS, _chosen(lambda a, b: T.any_of(a > b, b > 1)), exact=True),
    Operation("c & d", NUMBERS, _chosen(lambda a, b: (a > b) & (b > 1)), exact=True),
    Operation("c | d", NUMBERS, _chosen(lambda a, b: (a > b) | (b > 1)), exact=True),
    Operation("c ^ d", NUMBERS, _chosen(lambda a, b: (a > b) ^ (b > 1)), exact=True),
    Operation("~c", NUMBERS, _chosen(lambda a, b: ~(a > b)), exact=True),
    Operation("Select", NUMBERS, lambda a, b: T.Select(a > b, a, b), exact=True),
    Operation("isnan", FLOATS, _unary("isnan"), exact=True),
    Operation("isinf", FLOATS, _unary("isinf"), exact=True),
    Operation("isfinite", FLOATS, _unary("isfinite"), exact=True),
)
_LOGIC = (
    Operation("a & b", (*INTEGERS, "bool"), lambda a, b: a & b),
    Operation("a | b", (*INTEGERS, "bool"), lambda a, b: a | b),
    Operation("a ^ b", (*INTEGERS, "bool"), lambda a, b: a ^ b),
    Operation("~a", (*INTEGERS, "bool"), lambda a, b: ~a),
    Operation("a << 3", INTEGERS, lambda a, b: a << 3),
    Operation("a >> 3", INTEGERS, lambda a, b: a >> 3),
    Operation("a << b", INTEGERS, lambda a, b: a << (b & 7)),
    Operation("a >> b", INTEGERS, lambda a, b: a >> (b & 7)),
    Operation("a // 8", INTEGERS, lambda a, b: a // 8),
    Operation("a % 8", INTEGERS, lambda a, b: a % 8),
    Operation("a // 7", INTEGERS, lambda a, b: a // 7, on_core=True),
    Operation("a % 7", INTEGERS, lambda a, b: a % 7, on_core=True),
    Operation("truncdiv", INTEGERS, lambda a, b: T.truncdiv(a, 7), on_core=True),
    Operation("truncmod", INTEGERS, lambda a, b: T.truncmod(a, 7), on_core=True),
    Operation("popcount", INTEGERS, _unary("popcount"), on_core=True),
    Operation("clz", INTEGERS, _unary("clz"), on_core=True),
)
_FUNCTIONS = (
    *(
        Operation(name, FLOATS, _unary(name))
        for name in "exp exp2 exp10 log log2 log10 log1p sin cos tanh sigmoid erf sqrt rsqrt".split()
    ),
    *(Operation(name, FLOATS, _unary(name), exact=True) for name in "floor ceil trunc round nearbyint".split()),
    *(
        Operation(name, FLOATS, _unary(name), on_core=True)
        for name in "tan asin acos atan sinh cosh asinh acosh atanh".split()
    ),
    *(Operation(name, FLOATS, _two(name), on_core=True) for name in "pow atan2 fmod copysign hypot".split()),
)
OPERATIONS = (*_ARITHMETIC, *_COMPARISONS, *_CHOICES, *_LOGIC, *_FUNCTIONS)


def table() -> str:
    """The table of docs/operations.md: the unit that computes each operation, by element type."""
    families: Mapping[str, tuple[Operation, ...]] = {
        "Arithmetic": _ARITHMETIC, "Comparisons, choosing a or b": _COMPARISONS, "Conditions c and d": _CHOICES,
        "Bits and whole numbers": _LOGIC, "Functions": _FUNCTIONS,
    }  # fmt: skip
    rows = ["| | floats of 8 to 32 bits | integers of 8 to 32 bits | bool |", "|---|---|---|---|"]
    for name, family in families.items():
        rows.append(f"| **{name}** | | | |")
        for operation in family:
            who = "control core" if operation.on_core else "tensor unit"
            cells = [who if kinds[0] in operation.dtypes else "" for kinds in (FLOATS, INTEGERS, ("bool",))]
            text = operation.text.replace("|", "\\|")
            rows.append(f"| `{text}` | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"
