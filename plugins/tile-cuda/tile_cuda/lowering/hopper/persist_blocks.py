"""A grid of one block for each multiprocessor, each of which works at one block of the user's grid after another.

The next block's tiles are on their way while the results of the one before are stored. Blocks are taken in panels of
rows, so that those that run at the same time share tiles in the L2 cache; T.use_swizzle says how high a panel is.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import cast, const, constant, dtype_of, nothing, seq
from tilecore.ir.nodes import (
    Analyzer,
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
from tilecore.ir.tile_ops import as_tile_call
from tilecore.lowering.simt.insert_barriers import BLOCKS
from tilecore.lowering.simt.rasterize_blocks import HINT, Panels, in_panels, panels_of

ROWS = 8  # of blocks in a panel where nobody says


class Tiles:
    """The user's blocks, numbered. axes: the grid's, x first."""

    def __init__(self, levels: list[AttrStmt], kernel: Stmt) -> None:
        found = {str(level.node.thread_tag): level for level in levels}
        self.axes = [found[f"blockIdx.{x}"] for x in "xyz" if f"blockIdx.{x}" in found]
        self.panels = panels_of(kernel) or Panels(ROWS, True)

    @property
    def total(self) -> Any:
        total: Any = const(1, "int32")
        for axis in self.axes:
            total = total * cast(axis.value, "int32")
        return Analyzer().simplify(total)

    def indices(self, tile: Var) -> list[Stmt]:
        """Definitions of the user's block indices for a tile's number."""
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


def persisted(levels: list[AttrStmt], code: Stmt, blocks: int, kernel: Stmt) -> tuple[list[AttrStmt], Stmt]:
    """The kernel's axes and code with ``blocks`` blocks for all."""
    tiles = Tiles(levels, kernel)
    block, wave, tile = Var("block", "int32"), Var("wave", "int32"), Var("tile", "int32")
    many = const(blocks, "int32")
    waves = Analyzer().simplify(tirx.floordiv(tiles.total + many - const(1, "int32") - block, many))
    body = [Bind(tile, wave * many + block), within(tile, tiles.total), *tiles.indices(tile), _without_hint(code)]
    loop = For(wave, const(0, "int32"), waves, ForKind.SERIAL, seq(body), annotations={BLOCKS: 1})
    axis = IterVar(Range.from_min_extent(const(0, "int32"), many), block, IterVar.ThreadIndex, "blockIdx.x")
    threads = [level for level in levels if not str(level.node.thread_tag).startswith("blockIdx")]
    return [AttrStmt(axis, "thread_extent", many, nothing()), *threads], seq([within(block, many), loop])


def _without_hint(code: Stmt) -> Stmt:
    def drop(node: Evaluate) -> Stmt:
        call = as_tile_call(node)
        is_hint = call is not None and call.op.name == "annotate" and str(call.key) == HINT
        return nothing() if is_hint else node

    return structural_map(code, (Evaluate, drop))
