"""T.Parallel: a nest of loops whose iterations are independent, run as lanes.

A perfect nest is one level: its loops are axes of the lanes. A statement between a loop and an inner T.Parallel loop
makes the inner one a further level, with further axes. Private memory (T.alloc_local, T.alloc_var) that every
iteration writes is scratch: each iteration has its own copy, which starts with the value from before the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilecore.element_values import ValueType
from tilecore.interpreter.privatisation import PrivateCopies, enter_private, leave_private
from tilecore.interpreter.scope import BufferInfo, Expression, Scope, Statement
from tilecore.interpreter.state import LoopFrame, State, both
from tilecore.interpreter.tiles.operands import require_block
from tilecore.ir.nodes import Bind, For, ForKind, SeqStmt, Stmt
from tilecore.ir.parallel_nests import region_facts


@dataclass(frozen=True)
class _Axis:
    """One loop of the nest: its variable, its bounds, and code that runs before the loops inside it."""

    slot: int
    kind: ValueType
    start: Expression
    extent: Expression
    stride: Expression | None
    position: int  # among the axes of the lanes
    before_inner: tuple[Statement, ...]


def compile_parallel(scope: Scope, node: For) -> Statement:
    """A T.Parallel nest, or a further level inside one."""
    return _compile_level(scope, node) if scope.region is not None else _compile_nest(scope, node)


def _compile_nest(scope: Scope, node: For) -> Statement:
    facts = region_facts(node)
    roots = {scope.facts.root(buffer) for buffer in facts.written}
    outer = scope.lanes
    shared = [scope.buffers[var] for var in facts.accessed if var in scope.buffers]
    scratch = {scope.facts.root(var) for var in facts.scratch}
    by_thread = [info for info in shared if info.is_private and outer == "threads"]
    by_iteration = [info for info in shared if info.is_private and info.root in scratch]
    site = scope.site
    changes: dict[str, Any] = {"region": facts, "lanes": "parallel", "masked": True, "parallel_depth": 0}
    with scope.inner(written_roots=roots, **changes):
        level = _compile_level(scope, node, _scratch_hook(by_iteration, scratch))

    def run(state: State) -> None:
        if state.lanes:
            require_block(state, site, "T.Parallel")
        copies = enter_private(state, by_thread, set())
        saved = state.enter_lanes((1,) * facts.depth)
        level(state)
        state.leave_lanes(saved)
        leave_private(state, copies)

    return run


Hook = Callable[[State], Callable[[], None]]  # called at the start of the nest; returns the function for its end


def _scratch_hook(private: list[BufferInfo], scratch: set[Any]) -> Hook | None:
    if not private:
        return None

    def enter(state: State) -> Callable[[], None]:
        copies: list[PrivateCopies] = enter_private(state, private, scratch)
        return lambda: leave_private(state, copies)

    return enter


def _compile_level(scope: Scope, node: For, hook: Hook | None = None) -> Statement:
    assert scope.region is not None
    rank = scope.region.depth
    with scope.inner(parallel_depth=scope.parallel_depth):
        axes, body = _collect(scope, node)
        code = scope.statement(body)
    first = axes[0].position

    def run(state: State) -> None:
        lanes, mask, coordinates = state.lanes, state.mask, state.coordinates
        state.loops.append(LoopFrame(None, parallel=True))
        level: Any = np.int64(0)
        for axis in axes:
            steps, level = _open_axis(state, axis, rank, level)
            if not steps or state.mask is False:
                break
        else:
            base = _start_epoch(state, axes) if first == 0 else 0
            state.coordinates = [*coordinates, level + np.int64(base)]
            leave = hook(state) if hook is not None else None
            code(state)
            if leave is not None:
                leave()
        state.loops.pop()
        state.lanes, state.mask, state.coordinates = lanes, mask, coordinates

    return run


def _open_axis(state: State, axis: _Axis, rank: int, level: Any) -> tuple[int, Any]:
    """Adds the axis of a loop to the lanes. Returns its number of iterations, and the linear index of each lane over
    the axes so far, of which ``level`` is that without this axis."""
    start, extent = axis.start(state), axis.extent(state)
    stride = 1 if axis.stride is None else int(axis.stride(state))
    counts = -(-np.asarray(extent, np.int64) // stride)
    steps = int(counts.max(initial=0)) if np.ndim(counts) else max(int(counts), 0)
    shape = [1] * rank
    shape[axis.position] = steps
    number = np.arange(steps, dtype=np.int64).reshape(shape)
    lanes = list(state.lanes)
    lanes[axis.position] = steps
    state.lanes = tuple(lanes)
    if np.ndim(counts) and steps:
        state.mask = both(state.mask, number < counts)
    state.env[axis.slot] = (np.asarray(start, np.int64) + number * stride).astype(axis.kind.carrier)
    for statement in axis.before_inner:
        statement(state)
    return steps, level * steps + number


def _start_epoch(state: State, axes: list[_Axis]) -> int:
    """The first coordinate of a new epoch, which has one coordinate for each iteration of the first level; the number
    after the last one marks several iterations."""
    state.epoch = state.epoch_end + 1
    state.epoch_end = state.epoch + prod(state.lanes[axis.position] for axis in axes)
    return state.epoch


def _collect(scope: Scope, node: For) -> tuple[list[_Axis], Stmt]:
    """The loops of the perfect nest that starts at ``node``, and its body. Variables bound between two of its loops do
    not make it imperfect."""
    axes: list[_Axis] = []
    while True:
        with scope.inner(masked=False):
            start, extent = scope.expression(node.min), scope.expression(node.extent)
            stride = scope.expression(node.step) if node.step is not None else None
        info = scope.define(node.loop_var)
        scope.show(str(node.loop_var.name), info.slot)
        binds, inner = _only_loop_in(node.body)
        position = scope.parallel_depth
        scope.parallel_depth += 1
        between = tuple(scope.statement(bind) for bind in binds) if inner is not None else ()
        axes.append(_Axis(info.slot, info.kind, start, extent, stride, position, between))
        if inner is None:
            return axes, node.body
        node = inner


def _only_loop_in(body: Stmt) -> tuple[list[Bind], For | None]:
    """The variables bound before the T.Parallel loop that is all there is in ``body``, and that loop."""
    statements = list(body.seq) if isinstance(body, SeqStmt) else [body]
    *binds, last = statements
    if isinstance(last, For) and last.kind == ForKind.PARALLEL and all(isinstance(b, Bind) for b in binds):
        return binds, last
    return [], None
