"""Frames: how the loops of a nest lie on the four axes of views, and how values vary along them.

The lane axis c takes the loop over rows of tiles, w the one over their columns, h and n take further ones. A frame with
a *spread* loop has a single loop, cut in equal parts over the lanes: element ``i`` is at c = i // chunk, w = i % chunk.
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
    """Raises NotTensor for elements that no engine has: of 64 bits, and packed ones of 4."""
    if FACTS[dtype_of(buffer)].bits not in (8, 16, 32):
        raise NotTensor(f"{buffer.name}, of {dtype_of(buffer)}")


class NotTensor(Exception):
    """The tensor unit cannot do this; the text says why."""


@dataclass(frozen=True)
class Frame:
    """axes: by loop variable. extents: by axis, 1 where no loop is. lanes: of the chip. spread, chunk: see above."""

    axes: Mapping[Var, str]
    extents: Mapping[str, int]
    lanes: int
    spread: Var | None = None
    count: int = 0  # iterations of the spread loop
    chunk: int = 0

    def axis_of(self, var: Var) -> str | None:
        for loop_var, axis in self.axes.items():
            if loop_var.same_as(var):
                return axis
        return None

    @property
    def all_axes(self) -> frozenset[str]:
        """Along which values may vary."""
        return frozenset("cw") if self.spread is not None else frozenset(self.axes.values())

    def shape(self, axes: frozenset[str]) -> tuple[int, int, int, int]:
        """Of a value that varies along ``axes``. One that does not vary over the lanes is in all of them."""
        n, h, w = (self.extents[a] if a in axes else 1 for a in "nhw")
        return n, self.extents["c"] if "c" in axes else self.lanes, h, w

    def terms(self, index: Any) -> tuple[dict[Var, int], Any]:
        """({loop variable: its factor}, the rest) of an index. Raises NotTensor where it is no such sum."""
        factors: dict[Var, int] = {}
        inside = variables(index) if not isinstance(index, int) else set()
        for var in self.axes:
            if var not in inside:
                continue
            factor = coefficient(index, var)
            if not isinstance(factor, int):
                raise NotTensor(f"the index {index} is no multiple of {var.name} and a rest")
            if factor:
                factors[var] = factor
        rest = index
        if factors:
            zero = {var: const(0, str(var.ty.dtype)) for var in factors}
            rest = Analyzer().simplify(substitute(index, zero))
        if not isinstance(rest, int) and any(var in variables(rest) for var in self.axes):
            raise NotTensor(f"the index {index} is no sum of multiples of loop variables")
        constant_rest = constant(rest)
        return factors, rest if constant_rest is None else constant_rest


def extents_of(frame: Frame) -> dict[Var, int]:
    if frame.spread is not None:
        return {frame.spread: frame.count}
    return {var: frame.extents[axis] for var, axis in frame.axes.items()}


@dataclass(frozen=True)
class Tile:
    """A value in local memory. axes: along which it varies; its view has extent 1 along others, but for c: a value that
    does not vary over the lanes is in every lane."""

    view: View
    axes: frozenset[str]

    @property
    def dtype(self) -> str:
        return self.view.dtype


Value: TypeAlias = Tile | Expr  # an expression is the same in all iterations


def over(tile: Tile, frame: Frame, axes: frozenset[str]) -> View:
    """The value as an operand whose other operands vary along ``axes``: it stands still along those that it lacks."""
    strides = tuple(s if a in tile.axes else 0 for a, s in zip(AXES, tile.view.strides, strict=True))
    return View(tile.view.buffer, tile.view.lane, tile.view.offset, frame.shape(axes), strides)  # type: ignore[arg-type]


def aligned_view(buffer: Var, shape: tuple[int, int, int, int], lanes: int, eu: int) -> View:
    return View(buffer, 0, 0, shape, aligned_strides(shape, lanes, eu))
