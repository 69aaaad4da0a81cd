"""Makes a kernel persistent: one block for each multiprocessor processes several blocks of the user's grid.

The tiles of the next block are loaded while the results of the one before are stored. The user's blocks are taken in
panels of rows, so that blocks that run at the same time share tiles in the L2 cache; T.use_swizzle sets the height of
a panel. Where the work of blocks differs along one axis (uneven_blocks.py), a panel has all blocks of some indices of
the other axes (no more than the cache holds, cached_panels.py), those with the most work first: blocks that run at the
same time have about the same work, and in the end each persistent block (even_turns.py).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from tile_cuda.lowering.hopper.cached_panels import is_left_to_device, most_in_panel
from tile_cuda.lowering.hopper.cluster_multicast import CLUSTER_BLOCKS
from tile_cuda.lowering.hopper.even_turns import USUAL, choose_turns
from tile_cuda.lowering.hopper.uneven_blocks import UnevenAxis, uneven_axis
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import KernelHint, LoopAttr, StatementAttr
from tilecore.ir.build import cast, const, constant, dtype_of, nothing, seq
from tilecore.ir.nodes import (
    AttrStmt,
    Bind,
    Evaluate,
    For,
    ForKind,
    IterVar,
    Range,
    Stmt,
    Var,
    structural_map,
    tirx,
)
from tilecore.ir.ranges import within
from tilecore.ir.tile_ops import as_tile_call, tile_statement
from tilecore.lowering.simt.analysis.panels import Panels, in_panels, panels_of

PANEL_ROWS = 8  # rows of blocks in a panel without T.use_swizzle


class Tiles:
    """The user's blocks by a linear index; or clusters of two along ``cluster_axis``.

    axes: the grid's, x first. uneven: the axis along which blocks have different work, if T.use_swizzle sets no order.
    """

    def __init__(self, levels: list[AttrStmt], kernel: Stmt, code: Stmt, cluster_axis: AttrStmt | None = None) -> None:
        by_tag = {str(level.node.thread_tag): level for level in levels}
        self.axes = [by_tag[f"blockIdx.{x}"] for x in "xyz" if f"blockIdx.{x}" in by_tag]
        self.panels = panels_of(kernel) or Panels(PANEL_ROWS, True)
        self.cluster_axis = cluster_axis
        is_free = panels_of(kernel) is None and cluster_axis is None and len(self.axes) > 1
        self.uneven = uneven_axis(self.axes, code) if is_free else None
        self.code = code
        self.blocks = 0  # persistent blocks; known when the tiles are given to them
        if cluster_axis is not None:
            self._group_in_clusters(cluster_axis)

    def _group_in_clusters(self, cluster_axis: AttrStmt) -> None:
        axis_index = next(n for n, axis in enumerate(self.axes) if axis.same_as(cluster_axis))
        var = cluster_axis.node.var
        self.cluster_index = Var(f"{var.name}_pair", dtype_of(var))
        count = const((constant(cluster_axis.value) or 0) // CLUSTER_BLOCKS, dtype_of(var))
        domain = Range.from_min_extent(const(0, dtype_of(var)), count)
        axis = IterVar(domain, self.cluster_index, IterVar.ThreadIndex, cluster_axis.node.thread_tag)
        self.axes[axis_index] = AttrStmt(axis, StatementAttr.AXIS, count, nothing())
        if axis_index == (1 if self.panels.by_rows else 0):
            self.panels = Panels(max(1, self.panels.size // CLUSTER_BLOCKS), self.panels.by_rows)

    @property
    def total(self) -> Any:
        total: Any = const(1, "int32")
        for axis in self.axes:
            total = total * cast(axis.value, "int32")
        return Analyzer().simplify(total)

    def of_block(self, tile: Var, rank: Any) -> list[Stmt]:
        """Definitions of the user's block indices for a linear index and the block's rank in its cluster."""
        definitions = self.indices(tile)
        if self.cluster_axis is not None:
            var, dtype = self.cluster_axis.node.var, dtype_of(self.cluster_axis.node.var)
            value = self.cluster_index * const(CLUSTER_BLOCKS, dtype) + rank.astype(dtype)
            definitions += [Bind(var, value), within(var, self.cluster_axis.value)]
        return definitions

    def is_left_to_device(self, blocks: int) -> bool:
        """Whether the grid should stay as it is, instead of so many persistent blocks (cached_panels.py).

        Its blocks must have the most work first, as the device begins them in the order of the first axis.
        """
        total = constant(self.total)
        if self.uneven is None or self.uneven.grows or not self.uneven.axis.same_as(self.axes[0]) or total is None:
            return False
        return is_left_to_device(self._most_in_panel, total / blocks, USUAL.panel)

    @cached_property
    def _most_in_panel(self) -> int | None:
        """Of the indices of the axes beside the uneven one (cached_panels.py)."""
        total = constant(self.total)
        if self.uneven is None or total is None:
            return None
        return most_in_panel(self.code, total // (constant(self.uneven.axis.value) or 1))

    def indices(self, tile: Var) -> list[Stmt]:
        """Definitions of the indices along the axes for a linear index."""
        if self.uneven is not None:
            return self._most_work_first(tile, self.uneven)
        if len(self.axes) == 2 and self.panels.size > 1 and all(constant(axis.value) != 1 for axis in self.axes):
            across, down = self.axes
            return in_panels(tile, across, down, self.panels, "int32")
        return _row_major(tile, self.axes)

    def _most_work_first(self, tile: Var, uneven: UnevenAxis) -> list[Stmt]:
        others = [axis for axis in self.axes if not axis.same_as(uneven.axis)]
        extent = cast(uneven.axis.value, "int32")
        count: Any = const(1, "int32")
        for axis in others:
            count = count * cast(axis.value, "int32")
        count = Analyzer().simplify(count)
        step, other = _axis("step", extent), _axis("others", count)
        steps, heads = constant(extent), constant(count)
        turns = USUAL
        if steps is not None and heads is not None:
            turns = choose_turns(steps, heads, self.blocks, self._most_in_panel)
        place = _turned(tile, self.blocks, steps * heads, turns.rotation) if steps and heads else tile
        definitions = in_panels(place, step, other, Panels(turns.panel, True), "int32", turns.alternates)
        var, index = uneven.axis.node.var, step.node.var
        index = extent - const(1, "int32") - index if uneven.grows else index
        definitions += [Bind(var, Analyzer().simplify(cast(index, dtype_of(var)))), within(var, uneven.axis.value)]
        return [*definitions, *_row_major(other.node.var, others)]


def _row_major(tile: Any, axes: list[AttrStmt]) -> list[Stmt]:
    """Definitions of the indices along the axes for a linear index, the first axis fastest."""
    definitions: list[Stmt] = []
    remaining: Any = tile
    for axis_index, axis in enumerate(axes):
        var, extent = axis.node.var, cast(axis.value, "int32")
        value = remaining if axis_index == len(axes) - 1 else tirx.floormod(remaining, extent)
        definitions += [Bind(var, Analyzer().simplify(cast(value, dtype_of(var)))), within(var, axis.value)]
        remaining = tirx.floordiv(remaining, extent)
    return definitions


def _turned(tile: Any, blocks: int, total: int, rotation: int) -> Any:
    """The place in the order of the tile that a persistent block takes, where in each whole round of ``blocks`` tiles
    it moves ``rotation`` places further."""
    if not rotation:
        return tile
    rounds, width = tirx.floordiv(tile, const(blocks, "int32")), const(blocks, "int32")
    moved = rounds * width + tirx.floormod(tile + rounds * const(rotation, "int32"), width)
    return tirx.Select(rounds < const(total // blocks, "int32"), moved, tile)


def _axis(name: str, extent: Any) -> AttrStmt:
    """An axis that the grid does not have, as a form in which other functions take one."""
    domain = Range.from_min_extent(const(0, "int32"), extent)
    axis = IterVar(domain, Var(name, "int32"), IterVar.ThreadIndex, "")
    return AttrStmt(axis, StatementAttr.AXIS, extent, nothing())


def with_persistent_blocks(
    levels: list[AttrStmt], code: Stmt, blocks: int, tiles: Tiles
) -> tuple[list[AttrStmt], Stmt]:
    """The kernel's axes and code with ``blocks`` persistent blocks, which process ``tiles``.

    In clusters two of the user's blocks are processed side by side, by blocks 2 n and 2 n + 1; ``blocks`` is even then.
    """
    cluster_axis, tiles.blocks = tiles.cluster_axis, blocks
    block, wave, tile = Var("block", "int32"), Var("wave", "int32"), Var("tile", "int32")
    cluster_blocks = 1 if cluster_axis is None else CLUSTER_BLOCKS
    clusters = const(blocks // cluster_blocks, "int32")
    first = block if cluster_axis is None else tirx.floordiv(block, const(cluster_blocks, "int32"))
    rank = tirx.floormod(block, const(cluster_blocks, "int32"))
    waves = Analyzer().simplify(tirx.floordiv(tiles.total + clusters - const(1, "int32") - first, clusters))
    body = [
        Bind(tile, wave * clusters + first), within(tile, tiles.total), *tiles.of_block(tile, rank), _without_hint(code)
    ]  # fmt: skip
    loop = For(wave, const(0, "int32"), waves, ForKind.SERIAL, seq(body), annotations={LoopAttr.USER_BLOCKS: 1})
    all_blocks = const(blocks, "int32")
    axis = IterVar(Range.from_min_extent(const(0, "int32"), all_blocks), block, IterVar.ThreadIndex, "blockIdx.x")
    threads = [level for level in levels if not str(level.node.thread_tag).startswith("blockIdx")]
    statements: list[Stmt] = [within(block, all_blocks), loop]
    if cluster_axis is not None:
        statements.insert(0, tile_statement("annotate", [KernelHint.CLUSTER_DIMS, CLUSTER_BLOCKS, 1, 1]))
    return [AttrStmt(axis, StatementAttr.AXIS, all_blocks, nothing()), *threads], seq(statements)


def _without_hint(code: Stmt) -> Stmt:
    def drop(node: Evaluate) -> Stmt:
        call = as_tile_call(node)
        is_hint = call is not None and call.op.name == "annotate" and str(call.key) == KernelHint.USE_SWIZZLE
        return nothing() if is_hint else node

    return structural_map(code, (Evaluate, drop))
