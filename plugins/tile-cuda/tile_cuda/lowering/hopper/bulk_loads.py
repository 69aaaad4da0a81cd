"""copy by a tensor map: one thread of the filling warp starts it, and its bytes count on the ring's barrier."""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.hopper.blocks import Blocks, blocks_of
from tile_cuda.lowering.hopper.pair_blocks import BLOCKS
from tile_cuda.lowering.hopper.roles import BULK, PAIRED
from tile_cuda.lowering.hopper.specialize_warps import CHANNELS
from tile_cuda.lowering.hopper.tensor_maps import MapTable, Tiling, tiling_of
from tilecore.ir.build import const, constant, load, seq
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Stmt, TensorRegion
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.assumptions import DIVISORS
from tilecore.lowering.implementation import TileOpImpl
from tilecore.lowering.passes import PassEnv

MAPS = "tensor_maps"  # the fact: the MapTable of the function's kernels


def matches(call: TileCall, env: PassEnv) -> str | None:
    return None if BULK in call.hints else "no warp of its own does it"


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    ring = call.dst.source
    blocks = blocks_of(ring)
    shape = tuple(int(constant(size) or 0) for size in ring.shape)
    return {ring: BufferLayout("row by row", shape, list) if blocks is None else blocks.layout}


def lower(call: TileCall, env: PassEnv) -> Stmt:
    ring = call.dst.source
    blocks = blocks_of(ring)
    tiling = _tiling(call.src, ring, blocks, env)
    row, column, mask = const(0, "int32"), const(0, "int32"), 0
    if PAIRED in call.hints:
        tiling, row, column = _own_half(tiling, blocks)
        mask = (1 << BLOCKS) - 1
    slot = call.dst.region[0].min
    barrier = load(env.facts[CHANNELS][ring].full, [slot])
    name = env.facts.setdefault(MAPS, MapTable()).name_of(tiling)
    outer = [const(0, "int32")] * (len(ring.shape) - 3)
    made = []
    for number, (block, _) in enumerate(tiling.boxes):
        further = const(block * (blocks.columns if blocks is not None else 0), "int32")
        first = load(ring, [slot, *outer, *([row] if len(ring.shape) > 2 else []), column + further])
        made.append(instructions.tensor_load(name, first, barrier, tiling.coordinates(number), call.span, mask))
    return seq(made)


def _own_half(tiling: Tiling, blocks: Blocks | None) -> tuple[Tiling, Any, Any]:
    """The half that this block of a pair loads, and the row and the column of the tile where it begins."""
    assert blocks is not None
    axis = tiling.half_along(blocks)
    assert axis is not None  # pair_blocks asked
    rank = instructions.cluster_rank()
    half, zero = tiling.half(axis, rank), const(0, "int32")
    places = rank * const(half.axes[axis].box, "int32")
    return (half, zero, places * const(blocks.columns, "int32")) if axis == 2 else (half, places, zero)


def _tiling(region: TensorRegion, ring: Any, blocks: Blocks | None, env: PassEnv) -> Tiling:
    shape = tuple(int(constant(size) or 0) for size in list(ring.shape)[1:])
    made = tiling_of(region, shape, blocks, env.facts[DIVISORS])
    assert isinstance(made, Tiling)  # the pass that set the hint asked
    return made


BULK_LOAD = TileOpImpl(
    "copy", "tensor map", lower, matches, priority=50, late=True, needs_layouts=True, layouts=layouts
)
