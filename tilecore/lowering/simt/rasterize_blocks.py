"""Reorders the blocks of a grid, so that blocks that run together share cached tiles: in panels, and on the same die.

Hardware starts blocks in the order of their linear index, x fastest. Block ``b`` would work at ``(b % gx, b // gx)``.
With panels (T.use_swizzle), the blocks traverse the grid panel by panel: a panel is ``panel_size`` rows of blocks
(columns for order "column"), traversed down its rows, then on to the next column. Odd panels are traversed backwards,
so that neighbouring panels meet at neighbouring blocks. The last panel has the remaining rows. The mapping is a
bijection for every grid.

On a device of several dies (analysis/dies.py), the blocks are renumbered before, so that neighbours in that order run
on one die. That is done for kernels with T.use_swizzle and for those that multiply tiles, which get panels by default.

The pass is the last one before kernels are outlined: all passes before it see the user's own block indices, which
become variables that are computed once. The number of blocks is assumed to be below 2**31.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import cast, constant, dtype_of, seq
from tilecore.ir.nodes import AttrStmt, IterVar, PrimFunc, SeqStmt, Stmt, Var
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis, kernels_of
from tilecore.lowering.simt.analysis.dies import Dies, default_panels, has_product, renumbered, waits_for_others
from tilecore.lowering.simt.analysis.panels import Panels, in_panels, panels_of
from tilecore.lowering.simt.state import TileFunction


class _Order(NamedTuple):
    """The order of a kernel's blocks. panels: None where the order stays. dies: None for a device of one die."""

    panels: Panels | None
    dies: Dies | None = None


def rasterize_for(dies_of: Callable[[PassEnv], Dies | None]) -> Pass:
    """The pass for a device of several dies, with which a backend replaces ``rasterize_blocks``.

    dies_of: the dies, for the target and the configuration of a compilation; None: the device has one, or their order
    of blocks is turned off.
    """
    return Pass("rasterize_blocks", lambda func, env: rasterize_blocks(func, env, dies_of(env)), needs=(TileFunction,))


def rasterize_blocks(func: PrimFunc, env: PassEnv, dies: Dies | None = None) -> PrimFunc:
    orders = [_order_of(kernel, dies) for kernel in kernels_of(env.state(TileFunction).function.body)]
    if not any(order.panels for order in orders):
        return func
    remaining = iter(orders)

    def change(body: Stmt) -> Stmt:
        if isinstance(body, SeqStmt):
            return SeqStmt([change(part) for part in body.seq], span=body.span)
        order = next(remaining) if is_axis(body) else None
        return body if order is None or order.panels is None else _rasterize(body, order.panels, order.dies, env)

    return func.with_body(change(func.body))


def _order_of(kernel: AttrStmt, dies: Dies | None) -> _Order:
    panels = panels_of(kernel)
    if dies is None or panels is not None:
        return _Order(panels, dies)
    levels, _ = axes_and_code(kernel)
    axes = {str(level.node.thread_tag): level.node.var for level in levels}
    if {"blockIdx.x", "blockIdx.y"} - {*axes} or not has_product(kernel) or waits_for_others(kernel):
        return _Order(None)
    return _Order(default_panels(kernel, axes["blockIdx.x"], axes["blockIdx.y"], dies), dies)


def _rasterize(kernel: AttrStmt, panels: Panels, dies: Dies | None, env: PassEnv) -> AttrStmt:
    levels, code = axes_and_code(kernel)
    axes = {str(level.node.thread_tag): level for level in levels}
    across, down = axes.get("blockIdx.x"), axes.get("blockIdx.y")
    if across is None or down is None or 1 in (constant(across.value), constant(down.value)):
        return kernel  # one row or one column has only one order
    blocks = (constant(across.value) or 0) * (constant(down.value) or 0)
    if dies is not None and 0 < blocks <= dies.count:
        dies = None
    if panels.size <= 1 and dies is None:
        return kernel
    env.note("blocks", {"order": _description(panels, dies)})
    fresh = {level: Var(f"block_{level.node.thread_tag[-1]}", dtype_of(level.node.var)) for level in (across, down)}
    rasterized = seq([*_user_indices(across, down, fresh, panels, dies), code])
    for level in reversed(levels):
        var = fresh.get(level, level.node.var)
        axis = IterVar(level.node.dom, var, level.node.iter_type, level.node.thread_tag)
        rasterized = AttrStmt(axis, level.attr_key, level.value, rasterized, span=level.span)
    return rasterized


def _description(panels: Panels, dies: Dies | None) -> str:
    line = "rows" if panels.by_rows else "columns"
    order = f"in panels of {panels.size} {line}" if panels.size > 1 else f"by {line}"
    return order if dies is None else f"{order}, runs of {dies.run} blocks on each of {dies.count} dies"


def _user_indices(
    across: AttrStmt, down: AttrStmt, fresh: dict[AttrStmt, Var], panels: Panels, dies: Dies | None
) -> list[Stmt]:
    """Statements that compute the user's block indices from the hardware's. fresh: the variables of the latter."""
    dtype = "int64" if "int64" in (dtype_of(across.node.var), dtype_of(down.node.var)) else "int32"
    block = cast(fresh[down], dtype) * cast(across.value, dtype) + cast(fresh[across], dtype)
    statements: list[Stmt] = []
    if dies is not None:
        statements, block = renumbered(block, cast(across.value, dtype) * cast(down.value, dtype), dies, dtype)
    return [*statements, *in_panels(block, across, down, panels, dtype)]


RASTERIZE_BLOCKS = rasterize_for(lambda env: None)
