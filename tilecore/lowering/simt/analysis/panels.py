"""The order of a grid's blocks in panels (T.use_swizzle): rasterize_blocks.py describes it."""

from __future__ import annotations

from typing import Any, NamedTuple

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import KernelHint
from tilecore.ir.build import cast, const, constant, dtype_of
from tilecore.ir.nodes import AttrStmt, Bind, Stmt, Var, tirx
from tilecore.ir.ranges import within
from tilecore.ir.tile_ops import last_hint


class Panels(NamedTuple):
    """The argument of T.use_swizzle: ``size`` rows of blocks in a panel; columns where ``by_rows`` is False."""

    size: int
    by_rows: bool


def panels_of(kernel: Stmt) -> Panels | None:
    """The panels of the last T.use_swizzle of a kernel; None if there is none."""
    hint = last_hint(kernel, KernelHint.USE_SWIZZLE)
    if hint is None:
        return None
    size, order = hint.rest
    return Panels(int(size), str(getattr(order, "value", order)) == "row")


def in_panels(
    block: Any, across: AttrStmt, down: AttrStmt, panels: Panels, dtype: str, alternates: bool = True
) -> list[Stmt]:
    """Statements that define the block indices along two axes of the user's grid, for the linear block index ``block``.

    across, down: the axes x and y, with their extents. dtype: of the computation, int32 or int64. alternates: whether
    every other panel is visited backwards.
    """
    extent_x, extent_y = cast(across.value, dtype), cast(down.value, dtype)
    long_axis, short_axis = (across, down) if panels.by_rows else (down, across)  # of a panel
    definitions = Definitions(dtype)
    length, depth = (extent_x, extent_y) if panels.by_rows else (extent_y, extent_x)
    block = definitions.name("block", block)
    constant_depth = constant(depth)
    size = panels.size if constant_depth is None else min(panels.size, constant_depth)
    if constant_depth == size:
        panel, inside, height = const(0, dtype), block, const(size, dtype)
    else:
        panel = definitions.name("panel", tirx.Div(block, length * size))
        inside = definitions.name("inside", block - panel * (length * size))
        if size == 1 or (constant_depth is not None and constant_depth % size == 0):
            height = const(size, dtype)
        else:
            height = definitions.name("height", tirx.Min(const(size, dtype), depth - panel * size))
    step = definitions.name("step", tirx.Div(inside, height))
    backwards = length - 1 - step
    is_even = tirx.EQ(tirx.Mod(panel, const(2, dtype)), 0)
    long_index = step if constant_depth == size or not alternates else tirx.Select(is_even, step, backwards)
    definitions.define(long_axis, long_index)
    definitions.define(short_axis, panel * size + (inside - step * height))
    return definitions.statements


class Definitions:
    """Builds statements that bind variables to simplified values, in order."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.statements: list[Stmt] = []
        self.analyzer = Analyzer()

    def name(self, name: str, value: Any) -> Any:
        """A new variable bound to the value; the value itself where it is constant."""
        value = self.analyzer.simplify(value)
        if constant(value) is not None:
            return value
        var = Var(name, self.dtype)
        self.statements.append(Bind(var, value))
        return var

    def define(self, axis: AttrStmt, value: Any) -> None:
        """Binds the index of an axis, and states its range."""
        var = axis.node.var
        self.statements.append(Bind(var, self.analyzer.simplify(cast(value, dtype_of(var)))))
        self.statements.append(within(var, axis.value))
