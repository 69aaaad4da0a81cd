"""Loops that run in sequence: for (serial, unrolled, vectorized, pipelined) and while.

All lanes run the same iteration; lanes whose bounds are smaller, or that have left the loop, wait until it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType
from tilecore.errors import InterpreterError, UnsupportedError
from tilecore.interpreter.analysis import has_jump
from tilecore.interpreter.scope import Scope, Statement
from tilecore.interpreter.state import LoopFrame, State, both, without
from tilecore.ir.nodes import For, ForKind, While

_SEQUENTIAL = (ForKind.SERIAL, ForKind.UNROLLED, ForKind.VECTORIZED)


def compile_for(scope: Scope, node: For) -> Statement:
    if node.kind == ForKind.PARALLEL:
        from tilecore.interpreter.parallel import compile_parallel

        return compile_parallel(scope, node)
    if node.kind not in _SEQUENTIAL:
        raise scope.error(UnsupportedError, "the interpreter does not run loops bound to threads", found=str(node)[:80])
    with scope.inner(masked=False):
        start, extent = scope.expression(node.min), scope.expression(node.extent)
        stride = scope.expression(node.step) if node.step is not None else None
    with scope.inner():
        info = scope.define(node.loop_var)
        scope.show(str(node.loop_var.name), info.slot)
        body = scope.statement(node.body)
    slot, kind, jumps, site = info.slot, info.kind, has_jump(node.body), scope.site

    def run(state: State) -> None:
        first, count = start(state), extent(state)
        step = 1 if stride is None else int(site.uniform(state, stride(state), "the step of a loop"))
        if step <= 0:
            raise site.error(state, InterpreterError, f"the step of a loop is {step}", expected="at least 1")
        if np.ndim(first) or np.ndim(count):
            _run_by_lane(state, body, slot, kind, first, count, step)
            return
        begin = int(first)
        values = range(begin, begin + int(count), step)
        if jumps:
            _run_leaving(state, body, slot, (kind.carrier.type(value) for value in values))
            return
        number, env = kind.carrier.type, state.env
        for value in values:
            env[slot] = number(value)
            body(state)

    return run


def _run_leaving(state: State, body: Statement, slot: int, values: Iterator[Value]) -> None:
    """Runs a loop that lanes may leave by break or return."""
    before = state.mask
    frame = LoopFrame(before)
    state.loops.append(frame)
    for value in values:
        state.mask = frame.active
        state.env[slot] = value
        body(state)
        if frame.active is False:
            break
    state.loops.pop()
    state.mask = without(before, state.returned)


def _run_by_lane(
    state: State, body: Statement, slot: int, kind: ValueType, first: Value, count: Value, step: int
) -> None:
    """Runs a loop whose bounds differ between lanes."""
    before = state.mask
    frame = LoopFrame(before)
    state.loops.append(frame)
    done: Any = 0
    wide = np.int64
    while True:
        state.mask = both(frame.active, np.asarray(wide(done) < count.astype(wide)))
        if state.mask is False:
            break
        state.env[slot] = (first.astype(wide) + wide(done)).astype(kind.carrier)
        body(state)
        done += step
    state.loops.pop()
    state.mask = without(before, state.returned)


def compile_while(scope: Scope, node: While) -> Statement:
    with scope.inner(masked=False):
        condition = scope.expression(node.condition)
    with scope.inner():
        body = scope.statement(node.body)

    def run(state: State) -> None:
        before = state.mask
        frame = LoopFrame(before)
        state.loops.append(frame)
        while True:
            state.mask = frame.active
            if state.mask is False:
                break
            test = condition(state)
            if np.ndim(test):
                frame.active = state.mask = both(frame.active, test)
                if state.mask is False:
                    break
            elif not test:
                break
            body(state)
        state.loops.pop()
        state.mask = without(before, state.returned)

    return run
