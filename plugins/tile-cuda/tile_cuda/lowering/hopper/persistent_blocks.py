"""A grid of one block for each multiprocessor, each of which works at one block of the user's grid after another.

The next block's tiles are on their way while the results of the one before are stored. Blocks are taken in panels of
rows, so that those that run at the same time share tiles in the L2 cache; T.use_swizzle says how high a panel is.
"""

from __future__ import annotations

from typing import Any

from tile_cuda.lowering.hopper.cluster_multicast import BLOCKS as CLUSTER_BLOCKS
from tilecore.ir.analyzer import Analyzer
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
from tilecore.lowering.simt.insert_barriers import BLOCKS
from tilecore.lowering.simt.rasterize_blocks import HINT, Panels, in_panels, panels_of

ROWS = 8  # of blocks in a panel where nobody says


class Tiles:
    """The user's blocks, numbered; or pairs of them along one axis. axes: the grid's, x first."""

    def __init__(self, levels: list[AttrStmt], kernel: Stmt, paired: AttrStmt | None = None) -> None:
        found = {str(level.node.thread_tag): level for level in levels}
        self.axes = [found[f"blockIdx.{x}"] for x in "xyz" if f"blockIdx.{x}" in found]
        self.panels = panels_of(kernel) or Panels(ROWS, True)
        self.paired = paired
        if paired is not None:
            self._halve(paired)

    def _halve(self, paired: AttrStmt) -> None:
        number = next(n for n, axis in enumerate(self.axes) if axis.same_as(paired))
        var = paired.node.var
        self.half = Var(f"{var.name}_pair", dtype_of(var))
        count = const((constant(paired.value) or 0) // CLUSTER_BLOCKS, dtype_of(var))
        domain = Range.from_min_extent(const(0, dtype_of(var)), count)
        axis = IterVar(domain, self.half, IterVar.ThreadIndex, paired.node.thread_tag)
        self.axes[number] = AttrStmt(axis, "thread_extent", count, nothing())
        if number == (1 if self.panels.by_rows else 0):
            self.panels = Panels(max(1, self.panels.size // CLUSTER_BLOCKS), self.panels.by_rows)

    @property
    def total(self) -> Any:
        total: Any = const(1, "int32")
        for axis in self.axes:
            total = total * cast(axis.value, "int32")
        return Analyzer().simplify(total)

    def of_block(self, tile: Var, rank: Any) -> list[Stmt]:
        """Definitions of the user's block indices for a number, and for the block's place in its pair."""
        made = self.indices(tile)
        if self.paired is not None:
            var, dtype = self.paired.node.var, dtype_of(self.paired.node.var)
            value = self.half * const(CLUSTER_BLOCKS, dtype) + rank.astype(dtype)
            made += [Bind(var, value), within(var, self.paired.value)]
        return made

    def indices(self, tile: Var) -> list[Stmt]:
        """Definitions of the indices along the axes for a number."""
        if len(self.axes) == 2 and self.panels.size > 1 and all(constant(axis.value) != 1 for axis in self.axes):
            across, down = self.axes
            return in_panels(tile, across, down, self.panels, "int32")
        made: list[Stmt] = []
        rest: Any = tile
        for number, axis in enumerate(self.axes):
            var, extent = axis.node.var, cast(axis.value, "int32")
            value = rest if number == len(self.axes) - 1 else tirx.floormod(rest, extent)
            made += [Bind(var, Analyzer().simplify(cast(value, dtype_of(var)))), within(var, axis.value)]
            rest = tirx.floordiv(rest, extent)
        return made


def with_persistent_blocks(
    levels: list[AttrStmt], code: Stmt, blocks: int, kernel: Stmt, paired: AttrStmt | None = None
) -> tuple[list[AttrStmt], Stmt]:
    """The kernel's axes and code with ``blocks`` blocks for all. paired: the axis along which two blocks of the user's
    are worked at side by side, by blocks 2 n and 2 n + 1; ``blocks`` is even then."""
    tiles = Tiles(levels, kernel, paired)
    block, wave, tile = Var("block", "int32"), Var("wave", "int32"), Var("tile", "int32")
    together = 1 if paired is None else CLUSTER_BLOCKS
    many, one = const(blocks // together, "int32"), const(1, "int32")
    first = block if paired is None else tirx.floordiv(block, const(together, "int32"))
    rank = tirx.floormod(block, const(together, "int32"))
    waves = Analyzer().simplify(tirx.floordiv(tiles.total + many - one - first, many))
    body = [
        Bind(tile, wave * many + first), within(tile, tiles.total), *tiles.of_block(tile, rank), _without_hint(code)
    ]  # fmt: skip
    loop = For(wave, const(0, "int32"), waves, ForKind.SERIAL, seq(body), annotations={BLOCKS: 1})
    all_blocks = const(blocks, "int32")
    axis = IterVar(Range.from_min_extent(const(0, "int32"), all_blocks), block, IterVar.ThreadIndex, "blockIdx.x")
    threads = [level for level in levels if not str(level.node.thread_tag).startswith("blockIdx")]
    made: list[Stmt] = [within(block, all_blocks), loop]
    if paired is not None:
        made.insert(0, tile_statement("annotate", ["cluster_dims", CLUSTER_BLOCKS, 1, 1]))
    return [AttrStmt(axis, "thread_extent", all_blocks, nothing()), *threads], seq(made)


def _without_hint(code: Stmt) -> Stmt:
    def drop(node: Evaluate) -> Stmt:
        call = as_tile_call(node)
        is_hint = call is not None and call.op.name == "annotate" and str(call.key) == HINT
        return nothing() if is_hint else node

    return structural_map(code, (Evaluate, drop))
