"""Loads only those rows of a tile that the tensor can have: a product with 16 rows of A, in tiles of 64 rows.

The tensor memory accelerator fills the rows of a box that are outside of the tensor with zeros, and takes longer for
such a row than for one of the tensor. Where a tensor has fewer rows than the tile, the box has no more rows than the
tensor, and the consumers write zeros to the others of all slots, once.
"""

from __future__ import annotations

from collections.abc import Mapping

from tile_cuda import instructions
from tile_cuda.lowering.hopper.circular_buffers import CircularBuffer
from tile_cuda.lowering.hopper.column_blocks import PATTERN, column_blocks_of
from tile_cuda.lowering.hopper.pipelines import Pipeline, TmaLoad, tiling_of_load
from tile_cuda.operations import CLEAR_ROWS
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, load, seq
from tilecore.ir.nodes import BufferRegion, Range, Stmt, Var
from tilecore.ir.tile_ops import TileCall, tile_statement
from tilecore.lowering.simt.thread_env import ThreadEnv


def load_rows_inside(pipelines: list[Pipeline], analyzer: Analyzer, divisors: Mapping[Var, int]) -> None:
    """Sets ``rows_inside`` of the loads of loops. analyzer: has the ranges of the block indices."""
    for pipeline in (pipeline for pipeline in pipelines if pipeline.is_of_loop):
        for tile in pipeline.tiles:
            loads = [tma_load for tma_load in pipeline.all_loads if tma_load.tile.same_as(tile)]
            rows = {_rows_inside(tma_load, analyzer, divisors) for tma_load in loads}
            if len(rows) == 1:
                for tma_load in loads:
                    (tma_load.rows_inside,) = rows


def _rows_inside(tma_load: TmaLoad, analyzer: Analyzer, divisors: Mapping[Var, int]) -> int | None:
    """The rows of the tile that the tensor can have, rounded up to the period of the swizzle; None: all."""
    tile, (call, *others) = tma_load.tile, tma_load.calls
    moved = [n for n, r in enumerate(call.src.region) if constant(r.extent) != 1]
    if others or column_blocks_of(tile) is None or len(tile.shape) != 2 or len(moved) != 2:
        return None
    size, first = constant(call.src.source.shape[moved[0]]), call.src.region[moved[0]].min
    if size is None or not analyzer.can_prove(first >= 0):
        return None
    rows = max(1, -(-int(size) // PATTERN)) * PATTERN
    is_map = rows < int(constant(tile.shape[0]) or 0) and not isinstance(tiling_of_load(call, divisors, rows=rows), str)
    return rows if is_map else None


def clear_other_rows(circular_buffers: list[CircularBuffer]) -> list[Stmt]:
    """Statements for the consumers, in front of all others: zeros in the rows of slots that are not loaded."""
    statements: list[Stmt] = []
    for circular_buffer in circular_buffers:
        rows = {t.tile: t.rows_inside for t in circular_buffer.pipeline.all_loads if t.rows_inside is not None}
        for tile, first in rows.items():
            slots, height, width = circular_buffer.buffers[tile].shape
            bounds = ((0, slots), (first, int(constant(height) or 0) - first), (0, width))
            region = [Range.from_min_extent(const(start, "int32"), size) for start, size in bounds]
            statements.append(tile_statement(CLEAR_ROWS.name, [BufferRegion(circular_buffer.buffers[tile], region)]))
    if statements:
        statements += [instructions.proxy_fence(), tile_statement("sync_threads", [])]
    return statements


def matches(call: TileCall, env: PassEnv) -> str | None:
    return None if column_blocks_of(call.dst.source) is not None else "the tile is not divided into blocks of columns"


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    buffer = call.dst.source
    blocks = column_blocks_of(buffer)
    assert blocks is not None
    slots, rows, _ = call.dst.region
    size = int(constant(rows.extent) or 0) * blocks.span
    cleared = []
    for slot in range(int(constant(slots.extent) or 0)):
        for block in range(blocks.count):
            first = load(buffer, [const(slot, "int32"), rows.min, const(block * blocks.columns, "int32")])
            cleared.append(instructions.clear_shared(first, size, env.binding.thread, env.binding.threads, call.span))
    return seq(cleared)


ROWS = TileOpImpl(CLEAR_ROWS.name, "zeros", lower, matches, late=True)
