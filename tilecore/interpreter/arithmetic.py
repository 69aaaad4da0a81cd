"""Compiles arithmetic to closures: sums, divisions, comparisons, shifts and bitwise operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType, quiet, round_to, wrap
from tilecore.errors import InterpreterError, UnsupportedError
from tilecore.interpreter.scope import Expression, Scope, type_of
from tilecore.interpreter.state import Site, State, first_lane
from tilecore.ir.nodes import tirx

Operation = Callable[[Value, Value], Value]


def _float_floor_mod(a: Value, b: Value) -> Value:
    return a - np.floor(a / b) * b


def _smaller(a: Value, b: Value) -> Value:
    return np.fmin(quiet(a), quiet(b))


def _larger(a: Value, b: Value) -> Value:
    return np.fmax(quiet(a), quiet(b))


_PLAIN: dict[str, Operation] = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}
_EXTREMES: dict[str, tuple[Any, Any]] = {
    "Min": (_smaller, np.minimum),
    "Max": (_larger, np.maximum),
}  # of floats the one that is not NaN
_BITWISE: dict[str, Operation] = {
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}
_COMPARE: dict[str, Operation] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}
_FLOAT_DIVISIONS: dict[str, Operation] = {
    "Div": np.divide,
    "Mod": np.fmod,
    "FloorDiv": lambda a, b: np.floor(a / b),
    "FloorMod": _float_floor_mod,
}


def _binary(scope: Scope, node: Any) -> Expression:
    name, kind = type(node).__name__, type_of(node.a)
    if kind.is_integer and name in _INTEGER_DIVISIONS:
        left, right = scope.expression(node.a), scope.expression(node.b)
        return _divide(kind, _INTEGER_DIVISIONS[name], left, right, scope.site)
    operation = _operation(scope, name, kind)
    if type(node.a) in _CHAINED and not _may_trap(node.a):
        return _chain(scope, node)
    left, right = scope.expression(node.a), scope.expression(node.b)
    return lambda state: operation(left(state), right(state))


def _may_trap(node: Any) -> bool:
    return type(node).__name__ in _INTEGER_DIVISIONS and type_of(node.a).is_integer


def _chain(scope: Scope, node: Any) -> Expression:
    """((a + b) * c) - ...: without recursion, as unrolled sums get deep."""
    steps: list[tuple[Operation, Expression]] = []
    while type(node) in _CHAINED and not _may_trap(node):
        steps.append((_operation(scope, type(node).__name__, type_of(node.a)), scope.expression(node.b)))
        node = node.a
    first = scope.expression(node)
    steps.reverse()

    def run(state: State) -> Value:
        value = first(state)
        for operation, operand in steps:
            value = operation(value, operand(state))
        return value

    return run


def _operation(scope: Scope, name: str, kind: ValueType) -> Operation:
    """An operation that cannot trap, on operands of ``kind``; its result is of that kind too, or bool."""
    if name in _COMPARE:
        return _COMPARE[name]
    if name in _EXTREMES:
        extreme: Operation = _EXTREMES[name][not kind.is_float]
        return (lambda a, b: round_to(kind, extreme(a, b))) if kind.saturates else extreme
    if name in _BITWISE and not kind.is_float:
        return _BITWISE[name]
    exact = _PLAIN.get(name) or (_FLOAT_DIVISIONS.get(name) if kind.is_float else None)
    if exact is None or kind.kind == "bool":
        raise scope.error(UnsupportedError, f"{name} of {kind.name} values has no meaning")
    if kind.is_float and kind.carrier == kind.storage:
        return exact
    if kind.is_float:
        return lambda a, b: round_to(kind, exact(a, b))
    if kind.bits >= 8:
        return exact
    return lambda a, b: wrap(kind, exact(a, b))


def _truncating_divide(a: Value, b: Value) -> Value:
    quotient = np.floor_divide(a, b)
    return quotient + ((np.remainder(a, b) != 0) & ((a < 0) != (b < 0))).astype(quotient.dtype)


_INTEGER_DIVISIONS: dict[str, Operation] = {
    "Div": _truncating_divide,
    "Mod": np.fmod,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.remainder,
}


def _divide(kind: ValueType, operation: Operation, left: Expression, right: Expression, site: Site) -> Expression:
    unit = kind.carrier.type(1)

    def run(state: State) -> Value:
        dividend, divisor = left(state), right(state)
        zero = divisor == 0
        if np.any(zero):
            bad = zero if state.mask is None else zero & state.mask
            if np.any(bad):
                raise site.error(
                    state, InterpreterError, "integer division by zero", lane=first_lane(bad), found=f"{dividend} / 0"
                )
            divisor = np.where(zero, unit, divisor)
        return wrap(kind, operation(dividend, divisor))

    return run


def _shift(scope: Scope, node: Any) -> Expression:
    kind, amount_kind = type_of(node), type_of(node.b)
    left, right = scope.expression(node.a), scope.expression(node.b)
    operation = np.left_shift if isinstance(node, tirx.LShift) else np.right_shift
    site, bits, zero = scope.site, kind.bits, amount_kind.carrier.type(0)

    def run(state: State) -> Value:
        value, amount = left(state), right(state)
        wrong = (amount < 0) | (amount >= bits)
        if np.any(wrong):
            bad = wrong if state.mask is None else wrong & state.mask
            if np.any(bad):
                raise site.error(
                    state,
                    InterpreterError,
                    f"a {kind.name} is shifted by more bits than it has, or by a negative number",
                    lane=first_lane(bad),
                    expected=f"0 to {bits - 1}",
                )
            amount = np.where(wrong, zero, amount)
        return wrap(kind, operation(value, amount.astype(kind.carrier)))

    return run


def _bitwise_not(scope: Scope, node: Any) -> Expression:
    kind, value = type_of(node), scope.expression(node.a)
    return lambda state: wrap(kind, np.invert(value(state)))


_CHAINED = {getattr(tirx, name) for name in (*_PLAIN, *_EXTREMES, *_BITWISE, *_COMPARE, *_FLOAT_DIVISIONS)}
COMPILERS: dict[type, Callable[[Scope, Any], Expression]] = {
    tirx.BitwiseNot: _bitwise_not,
    tirx.LShift: _shift,
    tirx.RShift: _shift,
    **dict.fromkeys(_CHAINED, _binary),
}
