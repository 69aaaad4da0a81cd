"""Frames: the mapping of the loops of a nest to the four axes of views, and the axes along which values vary.

The lane axis c takes the loop over rows of tiles, w the loop over their columns; h and n take further loops. A frame
with a *partitioned* loop has a single loop, in equal parts over the lanes: iteration ``i`` is at c = i // chunk, w = i
% chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tile_tpu.ir.views import View, aligned_strides
from tilecore.dtypes import FACTS
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of
from tilecore.ir.nodes import Expr, Var
from tilecore.ir.visit import substitute, variables

AXES = "nchw"


def require_words(buffer: Var) -> None:
    """Raises NotTensor for element types that no engine supports: 64 bits, and 4 bits."""
    if FACTS[dtype_of(buffer)].bits not in (8, 16, 32):
        raise NotTensor(f"no engine supports {dtype_of(buffer)}, the element type of {buffer.name}")


class NotTensor(Exception):
    """The tensor unit and DMA do not support an operation; the text is the reason."""


@dataclass(frozen=True)
class Frame:
    """The mapping of one nest.

    axes: the axis of each loop variable. extents: the extent of each axis, 1 where it has no loop. lanes: the lanes of
    the chip. partitioned: the partitioned loop, if any. count, chunk: its iterations, in all and in one lane.
    """

    axes: Mapping[Var, str]
    extents: Mapping[str, int]
    lanes: int
    partitioned: Var | None = None
    count: int = 0
    chunk: int = 0

    def axis_of(self, var: Var) -> str | None:
        for loop_var, axis in self.axes.items():
            if loop_var.same_as(var):
                return axis
        return None

    @property
    def all_axes(self) -> frozenset[str]:
        """The axes along which values may vary."""
        return frozenset("cw") if self.partitioned is not None else frozenset(self.axes.values())

    def shape(self, axes: frozenset[str]) -> tuple[int, int, int, int]:
        """The extents of a value that varies along ``axes``. A value that does not vary over the lanes is
        replicated."""
        n, h, w = (self.extents[a] if a in axes else 1 for a in "nhw")
        return n, self.extents["c"] if "c" in axes else self.lanes, h, w

    def terms(self, index: Any) -> tuple[dict[Var, int], Any]:
        """The terms of an affine index: ({loop variable: its factor}, the uniform rest). Raises NotTensor where the
        index is not affine in the loop variables."""
        factors: dict[Var, int] = {}
        inside = variables(index) if not isinstance(index, int) else set()
        for var in self.axes:
            if var not in inside:
                continue
            factor = coefficient(index, var)
            if not isinstance(factor, int):
                raise NotTensor(f"the index {index} is not affine in {var.name}")
            if factor:
                factors[var] = factor
        rest = index
        if factors:
            zero = {var: const(0, str(var.ty.dtype)) for var in factors}
            rest = Analyzer().simplify(substitute(index, zero))
        if not isinstance(rest, int) and any(var in variables(rest) for var in self.axes):
            raise NotTensor(f"the index {index} is not affine in the loop variables")
        constant_rest = constant(rest)
        return factors, rest if constant_rest is None else constant_rest


def extents_of(frame: Frame) -> dict[Var, int]:
    if frame.partitioned is not None:
        return {frame.partitioned: frame.count}
    return {var: frame.extents[axis] for var, axis in frame.axes.items()}


@dataclass(frozen=True)
class Tile:
    """A value in local memory. axes: the axes along which it varies. Along other axes its view has extent 1, except for
    c: a value that does not vary over the lanes is replicated in every lane."""

    view: View
    axes: frozenset[str]

    @property
    def dtype(self) -> str:
        return self.view.dtype


Value: TypeAlias = Tile | Expr  # an expression is the same in all iterations


def over(tile: Tile, frame: Frame, axes: frozenset[str]) -> View:
    """The value as an operand of a command that works along ``axes``: broadcast (stride 0) along those in which it does
    not vary."""
    strides = tuple(s if a in tile.axes else 0 for a, s in zip(AXES, tile.view.strides, strict=True))
    return View(tile.view.buffer, tile.view.lane, tile.view.offset, frame.shape(axes), strides)  # type: ignore[arg-type]


def aligned_view(buffer: Var, shape: tuple[int, int, int, int], lanes: int, eu: int) -> View:
    return View(buffer, 0, 0, shape, aligned_strides(shape, lanes, eu))
