"""Reorders the blocks of a grid into panels (T.use_swizzle), so that blocks that run together share cached tiles.

Hardware starts blocks in the order of their linear index, x fastest. Block ``b`` would work at ``(b % gx, b // gx)``.
With panels, the blocks traverse the grid panel by panel: a panel is ``panel_size`` rows of blocks (columns for order
"column"), traversed down its rows, then on to the next column. Odd panels are traversed backwards, so that neighbouring
panels meet at neighbouring blocks. The last panel has the remaining rows. The mapping is a bijection for every grid.

The pass is the last one before kernels are outlined: all passes before it see the user's own block indices, which
become variables that are computed once. The number of blocks is assumed to be below 2**31.
"""

from __future__ import annotations

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import cast, constant, dtype_of, seq
from tilecore.ir.nodes import AttrStmt, IterVar, PrimFunc, SeqStmt, Stmt, Var
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis, kernels_of
from tilecore.lowering.simt.analysis.panels import Panels, in_panels, panels_of
from tilecore.lowering.simt.state import TileFunction


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


RASTERIZE_BLOCKS = Pass("rasterize_blocks", rasterize_blocks, needs=(TileFunction,))
