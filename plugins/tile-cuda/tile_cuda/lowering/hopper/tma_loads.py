"""copy by a tensor map: one thread of the filling warp starts it, and its bytes count on the ring's barrier."""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.hopper.cluster_multicast import BLOCKS
from tile_cuda.lowering.hopper.column_blocks import ColumnBlocks, column_blocks_of
from tile_cuda.lowering.hopper.pipelines import tiling_of_load
from tile_cuda.lowering.hopper.specialize_warps import PIPELINES
from tile_cuda.lowering.hopper.tensor_maps import MapTable, Tiling
from tile_cuda.lowering.hopper.warp_roles import MULTICAST, TMA
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import const, constant, load, seq
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Stmt
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.analysis.assumptions import DIVISORS

MAPS = "tensor_maps"  # the fact: the MapTable of the function's kernels


def matches(call: TileCall, env: PassEnv) -> str | None:
    return None if TMA in call.hints else "no warp of its own does it"


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    ring = call.dst.source
    blocks = column_blocks_of(ring)
    shape = tuple(int(constant(size) or 0) for size in ring.shape)
    return {ring: BufferLayout("row by row", shape, list) if blocks is None else blocks.layout}


def lower(call: TileCall, env: PassEnv) -> Stmt:
    ring = call.dst.source
    blocks = column_blocks_of(ring)
    slot, first_row, *_ = (r.min for r in call.dst.region)
    tiling = tiling_of_load(call, env.facts[DIVISORS], slots=1)
    assert isinstance(tiling, Tiling)  # the pass that set the hint asked
    row, column, mask = first_row, const(0, "int32"), 0
    if MULTICAST in call.hints:
        tiling, row, column = _own_half(tiling, blocks)
        mask = (1 << BLOCKS) - 1
    barrier = load(env.facts[PIPELINES][ring].full, [slot])
    name = env.facts.setdefault(MAPS, MapTable()).name_of(tiling)
    outer = [const(0, "int32")] * (len(ring.shape) - 3)
    made = []
    for number, (block, _) in enumerate(tiling.boxes):
        further = const(block * (blocks.columns if blocks is not None else 0), "int32")
        first = load(ring, [slot, *outer, *([row] if len(ring.shape) > 2 else []), column + further])
        made.append(instructions.tensor_load(name, first, barrier, tiling.coordinates(number), call.span, mask))
    return seq(made)


def _own_half(tiling: Tiling, blocks: ColumnBlocks | None) -> tuple[Tiling, Any, Any]:
    """The half that this block of a pair loads, and the row and the column of the tile where it begins."""
    assert blocks is not None
    axis = tiling.half_along(blocks)
    assert axis is not None  # cluster_multicast asked
    half, before = tiling.half(axis, instructions.cluster_rank())
    zero = const(0, "int32")
    if axis == 1:
        return half, before, zero
    return half, zero, before if axis == 0 else before * const(blocks.columns, "int32")


TMA_LOAD = TileOpImpl("copy", "tensor map", lower, matches, priority=50, late=True, needs_layouts=True, layouts=layouts)
