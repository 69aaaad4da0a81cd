"""TMA loads: one thread of the producer warp starts a copy by a tensor map, whose bytes count on an mbarrier."""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaCallAttr
from tile_cuda.lowering.hopper.cluster_multicast import CLUSTER_BLOCKS
from tile_cuda.lowering.hopper.column_blocks import ColumnBlocks, column_blocks_of
from tile_cuda.lowering.hopper.pipelines import tiling_of_load
from tile_cuda.lowering.hopper.tensor_maps import Tiling
from tile_cuda.lowering.state import TensorMaps, WarpSpecialization
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import const, constant, load, seq
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Stmt
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.state import TileFunction


def matches(call: TileCall, env: PassEnv) -> str | None:
    return None if CudaCallAttr.TMA in call.hints else "no producer warp does it"


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    """The layout of the circular buffer that a tensor map writes."""
    buffer = call.dst.source
    blocks = column_blocks_of(buffer)
    shape = tuple(int(constant(size) or 0) for size in buffer.shape)
    return {buffer: BufferLayout("row by row", shape, list) if blocks is None else blocks.layout}


def lower(call: TileCall, env: PassEnv) -> Stmt:
    buffer = call.dst.source
    blocks = column_blocks_of(buffer)
    slot, first_row, *_ = (r.min for r in call.dst.region)
    rows = call.hints.get(CudaCallAttr.ROWS)
    tiling = tiling_of_load(call, env.state(TileFunction).divisors, slots=1, rows=None if rows is None else int(rows))
    assert isinstance(tiling, Tiling)  # the pass that set the hint has checked it
    row, column, mask = first_row, const(0, "int32"), 0
    if CudaCallAttr.MULTICAST in call.hints:
        tiling, row, column = _half_of_this_block(tiling, blocks)
        mask = (1 << CLUSTER_BLOCKS) - 1
    barrier = load(env.state(WarpSpecialization).circular_buffers[buffer].full, [slot])
    name = env.state(TensorMaps).name_of(tiling)
    eviction = call.hints.get(CallAttr.EVICTION_POLICY)
    outer = [const(0, "int32")] * (len(buffer.shape) - 3)
    loads = []
    for box_index, (block, _) in enumerate(tiling.boxes):
        block_column = const(block * (blocks.columns if blocks is not None else 0), "int32")
        first = load(buffer, [slot, *outer, *([row] if len(buffer.shape) > 2 else []), column + block_column])
        coordinates = tiling.coordinates(box_index)
        loads.append(instructions.tma_load(name, first, barrier, coordinates, call.span, mask, eviction))
    return seq(loads)


def _half_of_this_block(tiling: Tiling, blocks: ColumnBlocks | None) -> tuple[Tiling, Any, Any]:
    """The half that this block of a cluster loads, and the row and the column of the tile where it begins."""
    assert blocks is not None
    axis = tiling.half_along(blocks)
    assert axis is not None  # cluster_multicast has checked it
    half, before = tiling.half(axis, instructions.cluster_rank())
    zero = const(0, "int32")
    if axis == 1:
        return half, before, zero
    return half, zero, before if axis == 0 else before * const(blocks.columns, "int32")


TMA_LOAD = TileOpImpl(
    "copy",
    "tensor map",
    lower,
    matches,
    priority=50,
    late=True,
    needs_layouts=True,
    layouts=layouts,
    needs=(TileFunction, WarpSpecialization),
    leaves=(TensorMaps,),
)
