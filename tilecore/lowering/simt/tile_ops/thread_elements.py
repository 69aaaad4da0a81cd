"""What a thread has of a tile that a layout deals out: loops over its registers, and which of the elements count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.ir.build import const, dtype_of
from tilecore.ir.fragments import THREAD, Digit, FragmentLayout
from tilecore.ir.nodes import EQ, Expr, For, ForKind, Stmt, Var


def steps_of(layout: FragmentLayout, name: str) -> dict[Digit, Var]:
    """A loop variable for each digit that goes to registers, the outermost first: ``name`` and a number."""
    return {digit: Var(f"{name}{n}", "int32") for n, digit in enumerate(layout.register_digits)}


def unrolled(steps: dict[Digit, Var], body: Stmt, span: Any = None) -> Stmt:
    """``body`` in unrolled loops over these digits."""
    for digit, var in reversed(steps.items()):
        body = For(var, const(0, "int32"), const(digit.extent, "int32"), ForKind.UNROLLED, body, span=span)
    return body


def places_of(layout: FragmentLayout, thread: Expr, steps: dict[Digit, Var]) -> list[Expr]:
    """The element of a fragment that a thread holds at these steps through its registers."""
    found = layout.indices(thread, list(steps.values()))
    return [const(place, "int32") if isinstance(place, int) else place for place in found]


def is_there(layout: FragmentLayout, places: Sequence[Any]) -> list[Expr]:
    """The conditions that there is an element at ``places``: the last digit of an axis may reach past its end."""
    found = []
    for axis, (place, size) in enumerate(zip(places, layout.shape, strict=True)):
        digits = layout.of_axis(axis)
        if digits and digits[-1].end > size:
            found.append(place < const(size, dtype_of(place)))
    return found


def is_first(layout: FragmentLayout, thread: Expr) -> list[Expr]:
    """The conditions that of the threads with copies of an element this is the first."""
    return [EQ(thread // free.stride % free.extent, const(0, "int32")) for free in layout.free]


def sharing(layout: FragmentLayout, axis: int) -> list[tuple[int, int]]:
    """The threads over which an axis is spread, as (stride, extent) of their numbers; those that follow one another as
    one."""
    found: list[tuple[int, int]] = []
    for digit in sorted((d for d in layout.of_axis(axis) if d.where == THREAD), key=lambda d: d.stride):
        if found and found[-1][0] * found[-1][1] == digit.stride:
            found[-1] = (found[-1][0], found[-1][1] * digit.extent)
        else:
            found.append((digit.stride, digit.extent))
    return found
