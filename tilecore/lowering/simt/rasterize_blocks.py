"""Runs the blocks of a grid in panels (T.use_swizzle), so that blocks near in time share tiles in the last-level cache.

Hardware starts blocks in the order of their number, x fastest. Here block number ``b`` does not work at
``(b % gx, b // gx)`` but goes through the grid panel after panel: a panel is ``panel_size`` rows of blocks (columns for
order "column"), walked down its rows, then on to the next column; odd panels are walked backwards, so that the turn
stays near. The last panel has the rows that are left. Of every grid this is a bijection.

It is the last change before kernels are split, so that all passes before it see the user's own block indices, which
become variables that are computed once. Numbers of blocks are taken to be below 2**31.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import cast, const, constant, dtype_of, seq
from tilecore.ir.nodes import AttrStmt, Bind, IterVar, PrimFunc, SeqStmt, Stmt, Var, tirx
from tilecore.ir.ranges import within
from tilecore.ir.tile_ops import last_hint
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis, kernels_of
from tilecore.lowering.simt.choose_tile_ops import UNCHOSEN

HINT = "use_swizzle"


class Panels(NamedTuple):
    """What T.use_swizzle asks for: ``size`` rows (or columns) of blocks a panel."""

    size: int
    by_rows: bool


def rasterize_blocks(func: PrimFunc, env: PassEnv) -> PrimFunc:
    asked = [panels_of(kernel) for kernel in kernels_of(env.facts[UNCHOSEN].body)]
    if not any(asked):
        return func
    rest = iter(asked)

    def change(body: Stmt) -> Stmt:
        if isinstance(body, SeqStmt):
            return SeqStmt([change(part) for part in body.seq], span=body.span)
        panels = next(rest) if is_axis(body) else None
        return body if panels is None else _in_panels(body, panels, env)

    return func.with_body(change(func.body))


def panels_of(kernel: Stmt) -> Panels | None:
    """What the last T.use_swizzle of a kernel asks for."""
    asked = last_hint(kernel, HINT)
    if asked is None:
        return None
    size, order = asked.rest
    return Panels(int(size), str(getattr(order, "value", order)) == "row")


def _in_panels(kernel: AttrStmt, panels: Panels, env: PassEnv) -> AttrStmt:
    levels, code = axes_and_code(kernel)
    axes = {str(level.node.thread_tag): level for level in levels}
    across, down = axes.get("blockIdx.x"), axes.get("blockIdx.y")
    if panels.size <= 1 or across is None or down is None or 1 in (constant(across.value), constant(down.value)):
        return kernel  # one row or one column: there is one order
    order = "rows" if panels.by_rows else "columns"
    env.note("blocks", {"order": f"in panels of {panels.size} {order}"})
    fresh = {level: Var(f"block_{level.node.thread_tag[-1]}", dtype_of(level.node.var)) for level in (across, down)}
    made = seq([*_indices(across, down, fresh, panels), code])
    for level in reversed(levels):
        var = fresh.get(level, level.node.var)
        axis = IterVar(level.node.dom, var, level.node.iter_type, level.node.thread_tag)
        made = AttrStmt(axis, level.attr_key, level.value, made, span=level.span)
    return made


def _indices(across: AttrStmt, down: AttrStmt, fresh: dict[AttrStmt, Var], panels: Panels) -> list[Stmt]:
    """Definitions of the user's block indices by those of the hardware."""
    dtype = "int64" if "int64" in (dtype_of(across.node.var), dtype_of(down.node.var)) else "int32"
    block = cast(fresh[down], dtype) * cast(across.value, dtype) + cast(fresh[across], dtype)
    return in_panels(block, across, down, panels, dtype)


def in_panels(block: Any, across: AttrStmt, down: AttrStmt, panels: Panels, dtype: str) -> list[Stmt]:
    """Definitions of the block indices along two axes, x and y, of the user's grid for block number ``block``."""
    wide, high = cast(across.value, dtype), cast(down.value, dtype)
    first, second = (across, down) if panels.by_rows else (down, across)
    made = _Definitions(dtype)
    length, depth = (wide, high) if panels.by_rows else (high, wide)
    number = made.name("block", block)
    known = constant(depth)
    size = panels.size if known is None else min(panels.size, known)
    if known == size:
        panel, inside, height = const(0, dtype), number, const(size, dtype)
    else:
        panel = made.name("panel", tirx.Div(number, length * size))
        inside = made.name("inside", number - panel * (length * size))
        whole = known is not None and known % size == 0
        height = (
            const(size, dtype) if whole else made.name("height", tirx.Min(const(size, dtype), depth - panel * size))
        )
    step = made.name("step", tirx.Div(inside, height))
    back = length - 1 - step
    turned = step if known == size else tirx.Select(tirx.EQ(tirx.Mod(panel, const(2, dtype)), 0), step, back)
    made.define(first, turned)
    made.define(second, panel * size + (inside - step * height))
    return made.statements


class _Definitions:
    """Variables and their values, in order."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.statements: list[Stmt] = []
        self.analyzer = Analyzer()

    def name(self, name: str, value: Any) -> Any:
        value = self.analyzer.simplify(value)
        if constant(value) is not None:
            return value
        var = Var(name, self.dtype)
        self.statements.append(Bind(var, value))
        return var

    def define(self, axis: AttrStmt, value: Any) -> None:
        """The index of an axis, and that it is one."""
        var = axis.node.var
        self.statements.append(Bind(var, self.analyzer.simplify(cast(value, dtype_of(var)))))
        self.statements.append(within(var, axis.value))


RASTERIZE_BLOCKS = Pass("rasterize_blocks", rasterize_blocks)
