"""Compiles statements to closures: sequences, stores, branches, loops, jumps, allocations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilecore.errors import DeviceAssertError, LanguageError
from tilecore.interpreter.allocation import compile_alias, compile_allocation
from tilecore.interpreter.analysis import has_jump
from tilecore.interpreter.loops import compile_for, compile_while
from tilecore.interpreter.reducers import compile_reducer_store
from tilecore.interpreter.scope import Scope, Statement
from tilecore.interpreter.state import State, both, either, first_lane, without
from tilecore.ir import nodes
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.nodes import Bind, BufferStore, Call, Evaluate, IfThenElse, SeqStmt, Stmt, StringImm, tirx
from tilecore.ir.tile_ops import as_tile_call


def compile_statement(scope: Scope, node: Stmt) -> Statement:
    """``node`` as a closure that runs it in the active lanes."""
    compiler = _COMPILERS.get(type(node))
    if compiler is None:
        raise scope.unsupported(node)
    with scope.at(node):
        return compiler(scope, node)


def _sequence(scope: Scope, node: SeqStmt) -> Statement:
    parts = [scope.statement(part) for part in node.seq]
    if not has_jump(node):

        def straight(state: State) -> None:
            for part in parts:
                part(state)

        return straight

    def run(state: State) -> None:
        for part in parts:
            part(state)
            if state.mask is False:
                return

    return run


def _store(scope: Scope, node: BufferStore) -> Statement:
    info = scope.buffer(node.buffer)
    accumulating = compile_reducer_store(scope, node, info)
    if accumulating is not None:
        return accumulating
    indices = [scope.expression(index) for index in node.indices]
    value, access, slot = scope.expression(node.value), scope.access(info), info.slot

    def run(state: State) -> None:
        stored = value(state)
        state.env[slot].store(state, [index(state) for index in indices], stored, access)

    return run


def _bind(scope: Scope, node: Bind) -> Statement:
    value = scope.expression(node.value)
    slot = scope.define(node.var).slot

    def run(state: State) -> None:
        state.env[slot] = value(state)

    return run


def _evaluate(scope: Scope, node: Evaluate) -> Statement:
    call = as_tile_call(node)
    if call is not None:
        from tilecore.interpreter.tiles.dispatch import compile_tile_statement

        return compile_tile_statement(scope, call)
    value = node.value
    if isinstance(value, StringImm):
        return lambda state: None
    if isinstance(value, Call):
        jump = _JUMP_CALLS.get(str(getattr(value.op, "name", "")))
        if jump is not None:
            return jump(scope, node)
    expression = scope.expression(value)

    def run(state: State) -> None:
        expression(state)

    return run


def _if(scope: Scope, node: IfThenElse) -> Statement:
    condition = scope.expression(node.condition)
    with scope.inner():
        then = scope.statement(node.then_case)
    with scope.inner():
        otherwise = scope.statement(node.else_case) if node.else_case is not None else None
    jumps = has_jump(node)

    def run(state: State) -> None:
        test = condition(state)
        if np.ndim(test) == 0:
            if test:
                then(state)
            elif otherwise is not None:
                otherwise(state)
            return
        before = state.mask
        state.mask = both(before, test)
        if state.mask is not False:
            then(state)
        after_then = state.mask
        state.mask = both(before, ~test)
        if otherwise is not None and state.mask is not False:
            otherwise(state)
        state.mask = either(after_then, state.mask) if jumps else before

    return run


def _break(scope: Scope, node: Any) -> Statement:
    site = scope.site

    def run(state: State) -> None:
        if not state.loops or state.loops[-1].parallel:
            raise site.error(state, LanguageError, "break leaves a T.Parallel loop", expected="a serial loop")
        loop = state.loops[-1]
        loop.active = without(loop.active, state.mask)
        state.mask = False

    return run


def _continue(scope: Scope, node: Any) -> Statement:
    site = scope.site

    def run(state: State) -> None:
        if not state.loops:
            raise site.error(state, LanguageError, "continue stands outside a loop")
        state.mask = False

    return run


def _return(scope: Scope, node: Any) -> Statement:
    if scope.lanes == "parallel":
        raise scope.error(LanguageError, "return stands inside T.Parallel", hint="use an `if` around what follows")

    def run(state: State) -> None:
        for loop in state.loops:
            loop.active = without(loop.active, state.mask)
        state.returned = either(state.returned, state.mask)
        state.mask = False

    return run


def _assert(scope: Scope, node: Any) -> Statement:
    condition, site = scope.expression(node.condition), scope.site
    message = "".join(str(getattr(part, "value", part)) for part in node.message_parts) or "an assertion failed"

    def run(state: State) -> None:
        failed = np.logical_not(condition(state))
        failed = failed if state.mask is None else failed & state.mask
        if np.any(failed):
            raise site.error(state, DeviceAssertError, message, lane=first_lane(failed))

    return run


def _attribute(scope: Scope, node: Any) -> Statement:
    if node.attr_key == StatementAttr.AXIS:
        from tilecore.interpreter.kernels import compile_kernel

        return compile_kernel(scope, node)
    return scope.statement(node.body)


_JUMP_CALLS: dict[str, Callable[[Scope, Any], Statement]] = {
    "tirx.thread_return": _return,
    "tirx.break_loop": _break,
    "tirx.continue_loop": _continue,
}
_COMPILERS: dict[type, Callable[[Scope, Any], Statement]] = {
    SeqStmt: _sequence,
    BufferStore: _store,
    Bind: _bind,
    Evaluate: _evaluate,
    IfThenElse: _if,
    nodes.For: compile_for,
    nodes.While: compile_while,
    nodes.Break: _break,
    nodes.Continue: _continue,
    nodes.Return: _return,
    nodes.AllocBuffer: compile_allocation,
    nodes.DeclBuffer: compile_alias,
    nodes.AttrStmt: _attribute,
    tirx.AssertStmt: _assert,
}
