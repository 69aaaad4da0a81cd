"""Builds loops over the elements that a thread holds of a partitioned tile, and the conditions on these elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilecore.ir.build import const, dtype_of, where
from tilecore.ir.fragments import THREAD, Digit, FragmentLayout
from tilecore.ir.nodes import EQ, Expr, For, ForKind, Stmt, Var
from tilecore.ir.visit import reads_variable


def steps_of(layout: FragmentLayout, name: str) -> dict[Digit, Var]:
    """A loop variable for each digit that goes to registers, the outermost first, called ``name`` and an index."""
    return {digit: Var(f"{name}{n}", "int32") for n, digit in enumerate(layout.register_digits)}


def unrolled(steps: dict[Digit, Var], body: Stmt, span: Any = None, conditions: Sequence[Any] = ()) -> Stmt:
    """``body`` in unrolled loops over the digits in ``steps``, the first one outermost, where ``conditions`` hold."""

    def loop(digit: Digit, var: Var, inside: Stmt) -> Stmt:
        return For(var, const(0, "int32"), const(digit.extent, "int32"), ForKind.UNROLLED, inside, span=span)

    return in_loops(steps, body, loop, conditions)


def in_loops(
    steps: dict[Digit, Var],
    body: Stmt,
    loop: Callable[[Digit, Var, Stmt], Stmt],
    conditions: Sequence[Any] = (),
) -> Stmt:
    """``body`` in a loop for each digit in ``steps``, the first one outermost; loop: makes one around its body.

    ``body`` is executed where the conditions hold; each stands around all loops whose variable it does not read.
    """
    remaining = list(conditions)
    for digit, var in reversed(steps.items()):
        body = where([c for c in remaining if reads_variable(c, var)], body)
        remaining = [c for c in remaining if not reads_variable(c, var)]
        body = loop(digit, var, body)
    return where(remaining, body)


def element_of(layout: FragmentLayout, thread: Expr, steps: dict[Digit, Var]) -> list[Expr]:
    """The indices of the element that a thread holds at the given values of the loop variables ``steps``."""
    indices = layout.indices(thread, list(steps.values()))
    return [const(index, "int32") if isinstance(index, int) else index for index in indices]


def in_bounds(layout: FragmentLayout, indices: Sequence[Any]) -> list[Expr]:
    """The conditions that the tile has an element at ``indices``: the last digit of an axis may reach past its end."""
    conditions = []
    for axis, (index, size) in enumerate(zip(indices, layout.shape, strict=True)):
        digits = layout.of_axis(axis)
        if digits and digits[-1].end > size:
            conditions.append(index < const(size, dtype_of(index)))
    return conditions


def bounds_of(layout: FragmentLayout, thread: Expr, steps: dict[Digit, Var]) -> list[Expr]:
    """The conditions that the tile has the element that a thread holds at the given values of the loop variables.

    Where the size of an axis is a multiple of the place of a digit, lower digits decide nothing: with 1000 columns
    all of 8 neighbours are inside or none is. So their loop variables do not occur, and the condition can stand around
    their loops.
    """
    conditions = []
    for axis, size in enumerate(layout.shape):
        digits = layout.of_axis(axis)
        if not digits or digits[-1].end <= size:
            continue
        piece = max(d.place for d in digits if size % d.place == 0)
        values = [0 if d.axis == axis and d.end <= piece else var for d, var in steps.items()]
        index = layout.indices(thread, values)[axis]
        conditions.append(index < const(size, dtype_of(index)))
    return conditions


def is_first_copy(layout: FragmentLayout, thread: Expr) -> list[Expr]:
    """The conditions that ``thread`` is the first of the threads that hold copies of an element."""
    return [EQ(thread // free.stride % free.extent, const(0, "int32")) for free in layout.free]


def thread_groups(layout: FragmentLayout, axis: int) -> list[tuple[int, int]]:
    """The groups of threads over which an axis is spread, as (stride, extent) of thread indices; contiguous groups are
    merged."""
    groups: list[tuple[int, int]] = []
    for digit in sorted((d for d in layout.of_axis(axis) if d.where == THREAD), key=lambda d: d.stride):
        if groups and groups[-1][0] * groups[-1][1] == digit.stride:
            groups[-1] = (groups[-1][0], groups[-1][1] * digit.extent)
        else:
            groups.append((digit.stride, digit.extent))
    return groups
