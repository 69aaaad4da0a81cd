"""Warns of sums in T.Parallel that iterations add to one element, as in

    for i, j in T.Parallel(8, 64):
        total[i] += A[i, j]

Iterations of T.Parallel run in any order and at the same time, so that of several additions to an element only one may
be left. On a processor, where they run one after another, the sum may look right.
"""

from __future__ import annotations

from typing import Any

from tilecore.frontend.place_warnings import warn_at
from tilecore.ir.build import constant
from tilecore.ir.nodes import (
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    Stmt,
    TensorLoad,
    Var,
    structural_equal,
    structural_mutate,
)
from tilecore.ir.scopes import is_private
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import reducers_of
from tilecore.ir.visit import collect, variables


class RaceWarning(UserWarning):
    """Iterations of T.Parallel add to the same element."""


def warn_of_races(body: Stmt) -> None:
    """Warns of stores in T.Parallel to an element that they also read and that is one for all iterations of a loop.

    Stores under a condition are left out: one iteration may be all that runs them.
    """
    reducers = reducers_of(body)
    parallel: list[Var] = []
    seen: set[str] = set()

    def loop(node: For, mutator: Any) -> Any:
        if node.kind != ForKind.PARALLEL or constant(node.extent) == 1:
            return mutator.default_mutate(node)
        parallel.append(node.loop_var)
        mutator.default_mutate(node)
        parallel.pop()
        return node

    def store(node: BufferStore, mutator: Any) -> Any:
        buffer = node.buffer
        if parallel and not is_private(buffer) and buffer not in reducers and _reads_itself(node):
            free = [var for var in parallel if all(var not in variables(index) for index in node.indices)]
            place = location_of_span(node.span)
            if free and str(place) not in seen:
                seen.add(str(place))
                _warn(buffer, free[0], node.span)
        return node

    def branch(node: IfThenElse, mutator: Any) -> Any:
        return node if parallel else mutator.default_mutate(node)

    structural_mutate(body, [(For, loop), (BufferStore, store), (IfThenElse, branch)])


def _reads_itself(node: BufferStore) -> bool:
    """Whether the stored value is made from the element that it replaces."""
    return any(
        load.source.same_as(node.buffer)
        and len(load.indices) == len(node.indices)
        and all(structural_equal(a, b) for a, b in zip(load.indices, node.indices, strict=True))
        for load in collect(node.value, TensorLoad)
    )


def _warn(buffer: Var, var: Var, span: Any) -> None:
    text = (
        f"all iterations of {var.name} change the same element of {buffer.name}, and T.Parallel runs them at the same"
    )
    remedy = "use T.reduce_sum (T.reduce_max, ...), T.alloc_reducer or T.atomic_add, or a T.serial loop"
    warn_at(location_of_span(span), f"{text} time: some changes are lost; {remedy}", RaceWarning)
