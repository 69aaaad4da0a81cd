"""Reorders the blocks of a grid into panels (T.use_swizzle), so that blocks that run together share cached tiles.

Hardware starts blocks in the order of their linear index, x fastest. Block ``b`` would work at ``(b % gx, b // gx)``.
With panels, the blocks traverse the grid panel by panel: a panel is ``panel_size`` rows of blocks (columns for order
"column"), traversed down its rows, then on to the next column. Odd panels are traversed backwards, so that neighbouring
panels meet at neighbouring blocks. The last panel has the remaining rows. The mapping is a bijection for every grid.

The pass is the last one before kernels are outlined: all passes before it see the user's own block indices, which
become variables that are computed once. The number of blocks is assumed to be below 2**31.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import KernelHint
from tilecore.ir.build import cast, const, constant, dtype_of, seq
from tilecore.ir.nodes import AttrStmt, Bind, IterVar, PrimFunc, SeqStmt, Stmt, Var, tirx
from tilecore.ir.ranges import within
from tilecore.ir.tile_ops import last_hint
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis, kernels_of
from tilecore.lowering.simt.state import TileFunction


class Panels(NamedTuple):
    """The argument of T.use_swizzle: ``size`` rows of blocks in a panel; columns where ``by_rows`` is False."""

    size: int
    by_rows: bool


def rasterize_blocks(func: PrimFunc, env: PassEnv) -> PrimFunc:
    panels_of_kernels = [panels_of(kernel) for kernel in kernels_of(env.state(TileFunction).function.body)]
    if not any(panels_of_kernels):
        return func
    remaining = iter(panels_of_kernels)

    def change(body: Stmt) -> Stmt:
        if isinstance(body, SeqStmt):
            return SeqStmt([change(part) for part in body.seq], span=body.span)
        panels = next(remaining) if is_axis(body) else None
        return body if panels is None else _rasterize(body, panels, env)

    return func.with_body(change(func.body))


def panels_of(kernel: Stmt) -> Panels | None:
    """The panels of the last T.use_swizzle of a kernel; None if there is none."""
    hint = last_hint(kernel, KernelHint.USE_SWIZZLE)
    if hint is None:
        return None
    size, order = hint.rest
    return Panels(int(size), str(getattr(order, "value", order)) == "row")


def _rasterize(kernel: AttrStmt, panels: Panels, env: PassEnv) -> AttrStmt:
    levels, code = axes_and_code(kernel)
    axes = {str(level.node.thread_tag): level for level in levels}
    across, down = axes.get("blockIdx.x"), axes.get("blockIdx.y")
    if panels.size <= 1 or across is None or down is None or 1 in (constant(across.value), constant(down.value)):
        return kernel  # one row or one column has only one order
    order = "rows" if panels.by_rows else "columns"
    env.note("blocks", {"order": f"in panels of {panels.size} {order}"})
    fresh = {level: Var(f"block_{level.node.thread_tag[-1]}", dtype_of(level.node.var)) for level in (across, down)}
    rasterized = seq([*_user_indices(across, down, fresh, panels), code])
    for level in reversed(levels):
        var = fresh.get(level, level.node.var)
        axis = IterVar(level.node.dom, var, level.node.iter_type, level.node.thread_tag)
        rasterized = AttrStmt(axis, level.attr_key, level.value, rasterized, span=level.span)
    return rasterized


def _user_indices(across: AttrStmt, down: AttrStmt, fresh: dict[AttrStmt, Var], panels: Panels) -> list[Stmt]:
    """Statements that compute the user's block indices from the hardware's. fresh: the variables of the latter."""
    dtype = "int64" if "int64" in (dtype_of(across.node.var), dtype_of(down.node.var)) else "int32"
    block = cast(fresh[down], dtype) * cast(across.value, dtype) + cast(fresh[across], dtype)
    return in_panels(block, across, down, panels, dtype)


def in_panels(block: Any, across: AttrStmt, down: AttrStmt, panels: Panels, dtype: str) -> list[Stmt]:
    """Statements that define the block indices along two axes of the user's grid, for the linear block index ``block``.

    across, down: the axes x and y, with their extents. dtype: of the computation, int32 or int64.
    """
    extent_x, extent_y = cast(across.value, dtype), cast(down.value, dtype)
    long_axis, short_axis = (across, down) if panels.by_rows else (down, across)  # of a panel
    definitions = _Definitions(dtype)
    length, depth = (extent_x, extent_y) if panels.by_rows else (extent_y, extent_x)
    block = definitions.name("block", block)
    constant_depth = constant(depth)
    size = panels.size if constant_depth is None else min(panels.size, constant_depth)
    if constant_depth == size:
        panel, inside, height = const(0, dtype), block, const(size, dtype)
    else:
        panel = definitions.name("panel", tirx.Div(block, length * size))
        inside = definitions.name("inside", block - panel * (length * size))
        if constant_depth is not None and constant_depth % size == 0:
            height = const(size, dtype)
        else:
            height = definitions.name("height", tirx.Min(const(size, dtype), depth - panel * size))
    step = definitions.name("step", tirx.Div(inside, height))
    backwards = length - 1 - step
    is_even = tirx.EQ(tirx.Mod(panel, const(2, dtype)), 0)
    long_index = step if constant_depth == size else tirx.Select(is_even, step, backwards)
    definitions.define(long_axis, long_index)
    definitions.define(short_axis, panel * size + (inside - step * height))
    return definitions.statements


class _Definitions:
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


RASTERIZE_BLOCKS = Pass("rasterize_blocks", rasterize_blocks, needs=(TileFunction,))
