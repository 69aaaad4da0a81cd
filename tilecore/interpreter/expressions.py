"""Compiles expressions to closures: variables, loads, selections, casts and calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilecore.element_values import Value, cast
from tilecore.errors import UnsupportedError
from tilecore.interpreter import arithmetic
from tilecore.interpreter.scope import Expression, Scope, type_of
from tilecore.interpreter.state import State, both
from tilecore.ir import nodes
from tilecore.ir.nodes import Call, Expr, StringImm, TensorLoad, Var, tirx


def compile_expression(scope: Scope, node: Expr) -> Expression:
    """``node`` as a closure that gives its value in the active lanes."""
    if isinstance(node, StringImm):
        raise scope.error(UnsupportedError, "a string stands where a number is expected", found=str(node))
    compiler = _COMPILERS.get(type(node))
    if compiler is None:
        raise scope.unsupported(node)
    if getattr(node, "span", None) is None:
        return compiler(scope, node)
    with scope.at(node):
        return compiler(scope, node)


# -- leaves ------------------------------------------------------------------------------------------------------


def _constant(scope: Scope, node: Any) -> Expression:
    value = type_of(node).constant(node.value)
    return lambda state: value


def _variable(scope: Scope, node: Var) -> Expression:
    info = scope.variable(node)
    slot = info.slot
    if info.lanes == "threads" and scope.lanes == "parallel":
        site, name = scope.site, f"{node.name}, used in T.Parallel,"
        return lambda state: site.uniform(state, state.env[slot], name)
    return lambda state: state.env[slot]


def _load(scope: Scope, node: TensorLoad) -> Expression:
    info = scope.buffer(node.source)
    indices = [scope.expression(index) for index in node.indices]
    access, slot = scope.access(info), info.slot
    if len(indices) == 1:
        only = indices[0]
        return lambda state: state.env[slot].load(state, (only(state),), access)
    return lambda state: state.env[slot].load(state, [index(state) for index in indices], access)


def _let(scope: Scope, node: Any) -> Expression:
    value = scope.expression(node.value)
    slot = scope.define(node.var).slot
    body = scope.expression(node.body)

    def run(state: State) -> Value:
        state.env[slot] = value(state)
        return body(state)

    return run


# -- logic and choice --------------------------------------------------------------------------------------------


def _not(scope: Scope, node: Any) -> Expression:
    value = scope.expression(node.a)
    return lambda state: np.logical_not(value(state))


def only_where(state: State, lanes: Any, expression: Expression) -> Value | None:
    """The value of ``expression`` with only ``lanes`` active; None if no lane is active."""
    saved = state.mask
    state.mask = both(saved, lanes)
    value = None if state.mask is False else expression(state)
    state.mask = saved
    return value


def _logic(scope: Scope, node: Any) -> Expression:
    """and, or: the right side runs only in lanes where it decides."""
    left, right = scope.expression(node.a), scope.expression(node.b)
    is_and = isinstance(node, tirx.And)
    combine = np.logical_and if is_and else np.logical_or

    def run(state: State) -> Value:
        first = left(state)
        open_lanes = first if is_and else np.logical_not(first)
        if np.ndim(open_lanes) == 0:
            return right(state) if open_lanes else first
        second = only_where(state, open_lanes, right)
        return first if second is None else combine(first, second)

    return run


def choose(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    """One of two values, each evaluated only in the lanes that take it."""

    def run(state: State) -> Value:
        test = condition(state)
        if np.ndim(test) == 0:
            return then(state) if test else otherwise(state)
        yes, no = only_where(state, test, then), only_where(state, ~test, otherwise)
        if yes is None or no is None:
            return no if yes is None else yes
        return np.where(test, yes, no)

    return run


def _select(scope: Scope, node: Any) -> Expression:
    return choose(
        scope.expression(node.condition), scope.expression(node.true_value), scope.expression(node.false_value)
    )


def _cast(scope: Scope, node: Any) -> Expression:
    source, target = type_of(node.value), type_of(node)
    value = scope.expression(node.value)
    if source is target:
        return value
    return lambda state: cast(source, target, value(state))


def _call(scope: Scope, node: Call) -> Expression:
    from tilecore.interpreter.intrinsics import compile_call

    return compile_call(scope, node)


_COMPILERS: dict[type, Callable[[Scope, Any], Expression]] = {
    nodes.IntImm: _constant,
    nodes.FloatImm: _constant,
    Var: _variable,
    TensorLoad: _load,
    tirx.Let: _let,
    nodes.Not: _not,
    nodes.And: _logic,
    nodes.Or: _logic,
    nodes.Select: _select,
    nodes.Cast: _cast,
    Call: _call,
    **arithmetic.COMPILERS,
}
