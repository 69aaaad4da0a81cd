"""Calls in expressions: mathematical functions, tests, bit counts, choices, reinterpretation.

A mathematical function is computed in float64 and rounded once to the type of the call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType, round_to, wrap
from tilecore.errors import UnsupportedError
from tilecore.interpreter.directed import rounded_in_direction
from tilecore.interpreter.expressions import choose
from tilecore.interpreter.fused import fused_multiply_add
from tilecore.interpreter.scope import Expression, Scope, type_of
from tilecore.interpreter.state import State
from tilecore.ir.intrinsics import DIRECTED, ROUNDED
from tilecore.ir.nodes import Call
from tilecore.ir.tile_ops import tile_op_of

_erf = np.frompyfunc(math.erf, 1, 1)

# of float64, to float64
_UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": lambda x: np.float64(_erf(x)),
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,  # halves go to the even number, as TVM's own constant folding and LLVM code have it
    "nearbyint": np.rint,
    "fabs": np.abs,
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "pow": np.power,
    "atan2": np.arctan2,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "ldexp": lambda x, y: np.ldexp(x, np.clip(y, -(2**15), 2**15).astype(np.int32)),
}
_TESTS: dict[str, Callable[[Any], Any]] = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}


def compile_call(scope: Scope, node: Call) -> Expression:
    """A call in an expression."""
    name = str(getattr(node.op, "name", node.op))
    if tile_op_of(node) is not None:
        from tilecore.interpreter.tiles.dispatch import compile_tile_expression

        return compile_tile_expression(scope, node)
    short = name.rpartition(".")[2]
    compiled = _SPECIAL.get(name)
    if compiled is not None:
        return compiled(scope, node)
    if name.startswith(("tirx.", "prim.")):
        if short in _UNARY:
            return _in_double(scope, node, _UNARY[short])
        if short in _BINARY:
            return _in_double(scope, node, _BINARY[short])
        if short in _TESTS:
            test, value = _TESTS[short], scope.expression(node.args[0])
            return lambda state: test(value(state))
    raise scope.error(
        UnsupportedError,
        f"the interpreter does not know the call {name}",
        found=str(node)[:120],
        hint="chip intrinsics have no meaning here: write it with the language's own functions",
    )


def _in_double(scope: Scope, node: Call, function: Callable[..., Any]) -> Expression:
    kind = type_of(node)
    if not kind.is_float:
        raise scope.error(UnsupportedError, f"{node.op.name} of {kind.name} values has no meaning")
    args = [scope.expression(arg) for arg in node.args]
    if len(args) == 1:
        only = args[0]
        return lambda state: round_to(kind, function(only(state).astype(np.float64)))
    return lambda state: round_to(kind, function(*(arg(state).astype(np.float64) for arg in args)))


def _if_then_else(scope: Scope, node: Call) -> Expression:
    return choose(*(scope.expression(arg) for arg in node.args))


def _likely(scope: Scope, node: Call) -> Expression:
    return scope.expression(node.args[0])


def _reinterpret(scope: Scope, node: Call) -> Expression:
    source, target = type_of(node.args[0]), type_of(node)
    value = scope.expression(node.args[0])
    if source.bits != target.bits or "bool" in (source.kind, target.kind):
        raise scope.error(UnsupportedError, f"the bits of a {source.name} are not those of a {target.name}")
    if source.packed and "float" not in (source.kind, target.kind):
        span = target.carrier.type(16)
        if target.kind == "uint":
            return lambda state: value(state).astype(target.carrier) & (span - target.carrier.type(1))
        return lambda state: ((value(state) ^ np.uint8(8)).astype(np.int8)) - np.int8(8)
    if source.packed:
        return lambda state: _from_half_byte(target, source.encode(value(state)).view(np.uint8) & np.uint8(15))
    return lambda state: target.decode(source.encode(value(state)).view(target.storage))


def _from_half_byte(target: ValueType, bits: Value) -> Value:
    return target.decode(bits) if target.is_float else wrap(target, bits.view(target.storage))


def _nextafter(scope: Scope, node: Call) -> Expression:
    kind = type_of(node)
    x, y = (scope.expression(arg) for arg in node.args)

    def run(state: State) -> Value:
        start, towards = x(state).astype(kind.element), y(state).astype(kind.element)
        following = np.where(start == towards, towards, np.nextafter(start, towards))  # numpy's float16 takes 0 for -0
        return following.astype(kind.carrier)[()]

    return run


def _fma(scope: Scope, node: Call) -> Expression:
    kind = type_of(node)
    a, b, c = (scope.expression(arg) for arg in node.args)
    return lambda state: fused_multiply_add(kind, a(state), b(state), c(state))


def _popcount(scope: Scope, node: Call) -> Expression:
    source, target, value = type_of(node.args[0]), type_of(node), scope.expression(node.args[0])
    return lambda state: count_ones(_unsigned(source, value(state))).astype(target.carrier)


def _clz(scope: Scope, node: Call) -> Expression:
    source, target, value = type_of(node.args[0]), type_of(node), scope.expression(node.args[0])
    bits = np.uint64(source.bits)

    def run(state: Any) -> Value:
        filled = _unsigned(source, value(state))
        for shift in (1, 2, 4, 8, 16, 32):
            filled = filled | (filled >> np.uint64(shift))
        return (bits - count_ones(filled)).astype(target.carrier)

    return run


def _unsigned(kind: ValueType, value: Value) -> Value:
    """The bits of an integer as uint64, without the extension of its sign."""
    return value.astype(np.int64).view(np.uint64) & np.uint64((1 << kind.bits) - 1)


def count_ones(x: Value) -> Value:
    """The number of bits of each uint64 that are 1."""
    u = np.uint64
    x = x - ((x >> u(1)) & u(0x5555555555555555))
    x = (x & u(0x3333333333333333)) + ((x >> u(2)) & u(0x3333333333333333))
    x = (x + (x >> u(4))) & u(0x0F0F0F0F0F0F0F0F)
    return (x * u(0x0101010101010101)) >> u(56)


def _rounded(scope: Scope, node: Call) -> Expression:
    """The operand itself: the interpreter rounds after every operation."""
    return scope.expression(node.args[0])


def _directed(scope: Scope, node: Call) -> Expression:
    kind, mode, operation = type_of(node), str(node.args[0].value), str(node.args[1].value)
    operands = [scope.expression(arg) for arg in node.args[2:]]
    return lambda state: rounded_in_direction(kind, mode, operation, [operand(state) for operand in operands])


_SPECIAL: dict[str, Callable[[Scope, Call], Expression]] = {
    ROUNDED: _rounded,
    DIRECTED: _directed,
    "prim.if_then_else": _if_then_else,
    "prim.likely": _likely,
    "tirx.reinterpret": _reinterpret,
    "tirx.nextafter": _nextafter,
    "tirx.fma": _fma,
    "tirx.popcount": _popcount,
    "tirx.ctpop": _popcount,
    "prim.clz": _clz,
}
