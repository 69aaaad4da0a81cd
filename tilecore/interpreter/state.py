"""The state of a kernel while it is interpreted, and the sites in its source at which errors point.

Everything runs over *lanes*: the iterations of a T.Parallel loop, or the threads of a block, or a single one. A value
is a numpy scalar when it is the same in all lanes, else an array that broadcasts to the shape of the lanes. A mask
says which lanes run the current statement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilecore.element_values import Value
from tilecore.errors import InterpreterError, Location, TilecoreError

Mask = Any  # None: all lanes run. False: none does. Else a bool array that broadcasts to the lanes.


@dataclass
class Options:
    """How to run. check: track uninitialised reads and races. strict: what was read outside of a tensor, where
    the language gives 0, may not be stored inside one nor decide a reduction. block_seed: the seed of a random order of
    blocks; None: the natural order.
    block_races: with ``check``, races between blocks are errors too."""

    check: bool = True
    strict: bool = False
    block_seed: int | None = None
    print_hook: Callable[[str], None] = print
    block_races: bool = True


@dataclass
class LoopFrame:
    """A running loop: the lanes that have not left it. ``parallel``: a T.Parallel, which cannot be left."""

    active: Mask
    parallel: bool = False


class State:
    """The changing part of a run.

    env: values of variables and buffers, by slot. lanes: shape of the lanes, () for a single one. mask: the lanes that
    run. loops: the loops that are running, innermost last. returned: the lanes that have returned.
    coordinates: of each lane in the running T.Parallel nest, one array a level, for finding races. epoch: the first
    coordinate of that nest; epoch_end: the one after its last. grid, block: extents of the running kernel and index of
    its running block. outside: reads outside of tensors since the last store (interpreter/tails.py). pointed: what
    pointers reach (interpreter/pointers.py). block_number, block_epoch, block_end: as coordinates and epochs, for races
    between blocks.
    """

    __slots__ = (
        "block",
        "block_end",
        "block_epoch",
        "block_number",
        "coordinates",
        "env",
        "epoch",
        "epoch_end",
        "grid",
        "lanes",
        "loops",
        "mask",
        "options",
        "outside",
        "pointed",
        "returned",
    )

    def __init__(self, slots: int, options: Options) -> None:
        self.env: list[Any] = [None] * slots
        self.pointed: Any = None
        self.lanes: tuple[int, ...] = ()
        self.mask: Mask = None
        self.loops: list[LoopFrame] = []
        self.returned: Mask = False
        self.coordinates: list[np.ndarray] = []
        self.epoch = 0
        self.epoch_end = 0
        self.grid: tuple[int, ...] = ()
        self.block: tuple[int, ...] | None = None
        self.block_number = 0
        self.block_epoch = 0
        self.block_end = 0
        self.options = options
        self.outside: list[Any] | None = None

    def enter_lanes(self, lanes: tuple[int, ...]) -> tuple[Any, ...]:
        """Replace the lanes by new ones, all active; returns the old ones for :meth:`leave_lanes`."""
        saved = (self.lanes, self.mask, self.loops, self.returned, self.coordinates)
        self.lanes, self.mask, self.loops, self.returned, self.coordinates = lanes, None, [], False, []
        return saved

    def leave_lanes(self, saved: tuple[Any, ...]) -> None:
        self.lanes, self.mask, self.loops, self.returned, self.coordinates = saved


def both(left: Mask, right: Mask) -> Mask:
    """The lanes in both masks."""
    if left is False or right is False:
        return False
    if left is None or right is None:
        common = right if left is None else left
        return common if common is None or common.any() else False
    common = left & right
    return common if common.any() else False


def first_lane(bad: Any) -> tuple[int, ...] | None:
    """The first lane where ``bad`` holds."""
    if np.ndim(bad) == 0:
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), np.shape(bad)))


def either(left: Mask, right: Mask) -> Mask:
    """The lanes in one mask or the other."""
    if left is False:
        return right
    if right is False:
        return left
    return None if left is None or right is None else left | right


def without(left: Mask, right: Mask) -> Mask:
    """The lanes in ``left`` that are not in ``right``."""
    if right is None or left is False:
        return False
    if right is False:
        return left
    rest = ~right if left is None else left & ~right
    return rest if rest.any() else False


def all_active(mask: Mask) -> bool:
    """Does the mask select all lanes?"""
    return mask is None or (mask is not False and bool(mask.all()))


@dataclass(frozen=True)
class LoopVariable:
    """A variable whose value error messages show. ``kind``: loop, block or thread."""

    name: str
    slot: int
    kind: str = "loop"


@dataclass(frozen=True)
class Site:
    """A place in the kernel: its source span and the iteration variables in scope there."""

    span: Any
    variables: tuple[LoopVariable, ...] = field(default=())

    @property
    def location(self) -> Location | None:
        return location_of(self.span)

    def describe(self, state: State, lane: tuple[int, ...] | None = None) -> str:
        """The values of the iteration variables in ``lane`` (None: where they do not depend on it), and the block."""
        parts: dict[str, list[str]] = {"loop": [], "thread": []}
        for variable in self.variables:
            value = state.env[variable.slot]
            text = _value_in_lane(value, lane)
            if variable.kind in parts and text is not None:
                parts[variable.kind].append(f"{variable.name} = {text}")
        words = parts["loop"] + parts["thread"]
        if state.block is not None:
            words.append(f"block {state.block}")
        return ", ".join(words)

    def error(
        self,
        state: State,
        kind: type[TilecoreError],
        message: str,
        *,
        lane: tuple[int, ...] | None = None,
        found: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> TilecoreError:
        """An error of ``kind`` here, with the iteration that it happened in."""
        where = self.describe(state, lane)
        text = f"{message} ({where})" if where else message
        return kind(text, location=self.location, found=found, expected=expected, hint=hint)

    def uniform(self, state: State, value: Value, subject: str) -> Any:
        """``value`` as one numpy scalar; raises when it differs between lanes."""
        if np.ndim(value) == 0:
            return value[()] if isinstance(value, np.ndarray) else value
        first = value.flat[0]
        same = (value == first) | ((value != value) & (first != first))
        if not np.all(same):
            raise self.error(
                state,
                InterpreterError,
                f"{subject} differs between threads, but is needed once for the block",
                found=f"values such as {first} and {value[~same].flat[0]}",
                expected="the same value in all threads",
                hint="the whole block executes tile operations and T.Parallel together",
            )
        return first


def _value_in_lane(value: Any, lane: tuple[int, ...] | None) -> str | None:
    if value is None:
        return None
    if np.ndim(value) == 0:
        return str(value)
    if lane is None or np.ndim(value) > len(lane):
        return None
    return str(value[tuple(min(i, n - 1) for i, n in zip(lane, value.shape, strict=False))])


def location_of(span: Any) -> Location | None:
    """A TVM span (columns from 1) as a :class:`Location` (columns from 0)."""
    if span is None or not hasattr(span, "source_name"):
        return None
    column, end_column = max(int(span.column) - 1, 0), max(int(span.end_column) - 1, 0)
    return Location(str(span.source_name.name), int(span.line), column, int(span.end_line), end_column)
