"""Computes integer expressions for all threads of a block at once, where they do not depend on data.

A value is a number, a numpy array, or ``UNKNOWN``. The last axis of an array is the thread index; loops whose
iterations are computed together have axes before it. Each expression is compiled to a Python function once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilecore.ir.build import constant, op_name
from tilecore.ir.nodes import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Sub,
    TensorLoad,
    Var,
    tirx,
)


class _Unknown:
    """A value that depends on data or on the call's sizes."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = _Unknown()  # the value of what depends on data or on the call's sizes
Value = Any  # int, numpy array or UNKNOWN
Names = Mapping[Any, Value]  # the values of variables and private cells
Compute = Callable[[Names], Value]  # computes an expression from the values of names


def _truncated_quotient(a: Any, b: Any) -> Any:
    return np.where((a < 0) != (b < 0), -(np.abs(a) // np.abs(b)), np.abs(a) // np.abs(b))


def _truncated_remainder(a: Any, b: Any) -> Any:
    return a - b * _truncated_quotient(a, b)


_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Div: _truncated_quotient,
    Mod: _truncated_remainder,
    Min: np.minimum,
    Max: np.maximum,
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
    tirx.BitwiseXor: lambda a, b: a ^ b,
    tirx.BitwiseAnd: lambda a, b: a & b,
    tirx.BitwiseOr: lambda a, b: a | b,
    tirx.LShift: lambda a, b: a << b,
    tirx.RShift: lambda a, b: a >> b,
}
_DIVIDES = (FloorDiv, FloorMod, Div, Mod)


class Expressions:
    """Compiles expressions.

    calls: for the name of each call of a backend a function of (the call, this object) that returns a Compute.
    start_of: the first byte of a shared buffer in the block's arena.
    """

    def __init__(
        self, calls: Mapping[str, Callable[[Call, Expressions], Compute]], start_of: Callable[[Var], int | None]
    ) -> None:
        self.calls, self.start_of = calls, start_of
        self._compiled: dict[int, tuple[Any, Compute]] = {}  # by address; the node is kept alive

    def value(self, node: Any, names: Names) -> Value:
        """The value of an expression. names: the values of variables and private cells."""
        return self.compute(node)(names)

    def compute(self, node: Any) -> Compute:
        """The function that computes an expression from the values of names."""
        key = node.__chandle__()
        entry = self._compiled.get(key)
        if entry is None:
            entry = self._compiled[key] = node, self._compile(node)
        return entry[1]

    def _compile(self, node: Any) -> Compute:
        number = constant(node) if isinstance(node, IntImm) else None
        if number is not None:
            return lambda names: number
        if isinstance(node, Var):
            return lambda names: names.get(node, UNKNOWN)
        if isinstance(node, TensorLoad):
            return lambda names: names.get(node.source, UNKNOWN)
        if type(node) in _BINARY:
            return self._binary(node, _BINARY[type(node)])
        if isinstance(node, (And, Or)):
            return self._logic(node)
        if isinstance(node, Not):
            inner = self.compute(node.a)
            return lambda names: UNKNOWN if (a := inner(names)) is UNKNOWN else np.logical_not(a)
        if isinstance(node, Cast):
            return self._cast(node)
        if isinstance(node, Select):
            return self._choice(node.condition, node.true_value, node.false_value)
        if isinstance(node, Ramp):
            return self.compute(node.base)
        return self._call(node) if isinstance(node, Call) else lambda names: UNKNOWN

    def _binary(self, node: Any, apply: Callable[[Any, Any], Any]) -> Compute:
        left, right = self.compute(node.a), self.compute(node.b)
        divides = isinstance(node, _DIVIDES)

        def compute(names: Names) -> Value:
            a = left(names)
            b = right(names)
            if a is UNKNOWN or b is UNKNOWN or (divides and np.any(np.equal(b, 0))):
                return UNKNOWN
            return apply(a, b)

        return compute

    def _logic(self, node: Any) -> Compute:
        """The function of ``and`` and ``or``; the value is known if one known operand decides it."""
        left, right = self.compute(node.a), self.compute(node.b)
        wins = isinstance(node, Or)

        def compute(names: Names) -> Value:
            a, b = left(names), right(names)
            if a is UNKNOWN or b is UNKNOWN:
                known_side = b if a is UNKNOWN else a
                decided = known_side is not UNKNOWN and np.all(np.asarray(known_side, bool) == wins)
                return wins if decided else UNKNOWN
            return np.logical_or(a, b) if wins else np.logical_and(a, b)

        return compute

    def _cast(self, node: Cast) -> Compute:
        inner, dtype = self.compute(node.value), str(node.ty)
        if dtype == "bool":
            return lambda names: UNKNOWN if (a := inner(names)) is UNKNOWN else np.not_equal(a, 0)
        if "int" not in dtype:
            return lambda names: UNKNOWN
        bits = int(dtype.removeprefix("u").removeprefix("int").split("x")[0])
        low = 0 if dtype.startswith("u") else -(1 << (bits - 1))
        high = (1 << bits) - 1 if dtype.startswith("u") else (1 << (bits - 1)) - 1

        def compute(names: Names) -> Value:
            a = inner(names)
            if a is UNKNOWN or bits >= 64:
                return a
            return a if np.all(np.greater_equal(a, low)) and np.all(np.less_equal(a, high)) else UNKNOWN

        return compute

    def _choice(self, condition: Any, yes: Any, no: Any) -> Compute:
        test, first, second = (self.compute(part) for part in (condition, yes, no))

        def compute(names: Names) -> Value:
            chosen, a, b = test(names), first(names), second(names)
            if chosen is UNKNOWN:
                return a if a is not UNKNOWN and b is not UNKNOWN and np.array_equal(a, b) else UNKNOWN
            if np.all(chosen):
                return a
            if not np.any(chosen):
                return b
            return UNKNOWN if a is UNKNOWN or b is UNKNOWN else np.where(chosen, a, b)

        return compute

    def _call(self, node: Call) -> Compute:
        name = op_name(node)
        if name in self.calls:
            return self.calls[name](node, self)
        if name.endswith("if_then_else"):
            return self._choice(*node.args)
        return lambda names: UNKNOWN
