"""T.tma_copy: one of the threads that reach it starts a copy by a tensor map. The kernel itself waits for the copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaCallAttr
from tile_cuda.lowering.hopper.column_blocks import PATTERN, ColumnBlocks, column_blocks_of
from tile_cuda.lowering.hopper.tensor_maps import Tiling, tiling_of_part
from tile_cuda.lowering.state import TensorMaps
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import const, constant, dtype_of, load, seq
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import EQ, BufferRegion, IfThenElse, Range, Stmt, TensorRegion, Var, tirx
from tilecore.ir.scopes import is_shared
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.analysis.assumptions import is_multiple
from tilecore.lowering.simt.state import TileFunction
from tilecore.lowering.simt.thread_env import ThreadEnv


@dataclass(frozen=True)
class Box:
    """The part of a shared tile that a copy moves, and its tensor map.

    leading, row, column: the indices of its first element. blocks: the division of the tile; None: it is row-major.
    """

    tile: Var
    blocks: ColumnBlocks | None
    tiling: Tiling
    leading: tuple[Any, ...]
    row: Any
    column: Any

    def element(self, box_index: int) -> Any:
        """The first element of a box."""
        block, along_row = self.tiling.boxes[box_index]
        distance = along_row if self.blocks is None else block * self.blocks.columns
        offset = const(distance, dtype_of(self.column))
        rows = () if self.row is None else (self.row,)
        return load(self.tile, [*self.leading, *rows, self.column + offset])


def box_of(call: TileCall, env: PassEnv) -> Box | str:
    """How a tensor map does a T.tma_copy; or the rule that the copy breaks."""
    shared, in_global = (call.dst, call.src) if is_shared(call.dst.source) else (call.src, call.dst)
    tile = shared.source
    tensor = in_global.source
    if dtype_of(tile) != dtype_of(tensor):
        types = f"{tile.name} is {dtype_of(tile)} and {tensor.name} is {dtype_of(tensor)}"
        return f"{types}: tensor maps do not convert element types"
    extents = [constant(r.extent) for r in shared.region]
    if None in extents:
        return f"the size of the region of {tile.name} is not a compile-time constant"
    blocks = _blocks(shared)
    reason = _reason_against(shared, blocks, env)
    if reason:
        return reason
    shape = tuple(int(extent or 0) for extent in extents)
    tiling = tiling_of_part(_with_known_sizes(in_global), shape, blocks, env.state(TileFunction).divisors)
    if isinstance(tiling, str):
        return tiling
    starts = [r.min for r in shared.region]
    row = starts[-2] if len(starts) > 1 else None
    return Box(tile, blocks, tiling, tuple(starts[:-2]), row, starts[-1])


def _with_known_sizes(region: TensorRegion) -> TensorRegion:
    """The region with its extents simplified: A[i : i + 64] has 64 rows."""
    analyzer = Analyzer()
    ranges = [Range.from_min_extent(r.min, analyzer.simplify(r.extent)) for r in region.region]
    return BufferRegion(region.source, ranges)


def _blocks(region: TensorRegion) -> ColumnBlocks | None:
    """The division of the tile into blocks of columns; None (row by row) where too few rows are moved at once."""
    rows = constant(region.region[-2].extent) if len(region.region) > 1 else None
    return column_blocks_of(region.source) if rows is not None and rows % PATTERN == 0 else None


def _reason_against(region: TensorRegion, blocks: ColumnBlocks | None, env: PassEnv) -> str | None:
    """Why no box of a tensor map can be the region of the tile; None where one can."""
    tile, last = region.source, region.region[-1]
    is_whole = constant(last.extent) == constant(tile.shape[-1])
    if blocks is None:
        rows = [constant(r.extent) for r in region.region[:-1]]
        first = next((n for n, extent in enumerate(rows) if extent != 1), len(rows))
        inner = zip(region.region[first + 1 :], tile.shape[first + 1 :], strict=True)
        if not all(constant(r.extent) == constant(size) for r, size in inner):
            return f"the region of {tile.name} is not contiguous in shared memory"
        return None if is_whole or first == len(rows) else f"the region has only a part of each row of {tile.name}"
    divisors = env.state(TileFunction).divisors
    if any(constant(r.extent) != 1 for r in region.region[:-2]):
        return f"the region covers several tiles of {tile.name}"
    if not is_multiple(region.region[-2].min, PATTERN, divisors):
        return f"the region of {tile.name} does not begin at a multiple of {PATTERN} rows"
    columns = blocks.columns
    if (not is_whole and (constant(last.extent) or 0) % columns) or not is_multiple(last.min, columns, divisors):
        return f"the columns of the region of {tile.name} are not whole blocks of {columns}"
    return None


def matches(call: TileCall, env: PassEnv) -> str | None:
    box = box_of(call, env)
    return box if isinstance(box, str) else None


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    """The layout of the shared tile that a tensor map can copy."""
    region = call.dst if is_shared(call.dst.source) else call.src
    blocks = _blocks(region)
    shape = tuple(int(constant(size) or 0) for size in region.source.shape)
    return {region.source: BufferLayout("row by row", shape, list) if blocks is None else blocks.layout}


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    box = box_of(call, env)
    assert isinstance(box, Box)
    name = env.state(TensorMaps).name_of(box.tiling)
    work = _loads(call, box, name) if is_shared(call.dst.source) else _stores(call, box, name)
    if CallAttr.ALONE in call.hints:
        return work
    thread = env.binding.thread
    if call.leaders:
        thread = thread % const(call.leaders, "int32")
    return IfThenElse(EQ(thread, const(0, "int32")), work, None, span=call.span)


def _stores(call: TileCall, box: Box, name: str) -> Stmt:
    copies = [
        instructions.tma_store(name, box.element(n), box.tiling.coordinates(n), call.span, explicit=True)
        for n in range(len(box.tiling.boxes))
    ]
    return seq([*copies, instructions.tma_store_group("commit_stores", span=call.span)])


def _loads(call: TileCall, box: Box, name: str) -> Stmt:
    box_indices = range(len(box.tiling.boxes))
    eviction = call.hints.get(CallAttr.EVICTION_POLICY)
    size = const(box.tiling.bytes * len(box.tiling.boxes), "int32")
    expect = instructions.mbarrier("arrive_expect" if call.arrive else "expect", call.barrier, size, span=call.span)

    def loads(mask: int) -> Stmt:
        return seq(
            [
                instructions.tma_load(
                    name, box.element(n), call.barrier, box.tiling.coordinates(n), call.span, mask, eviction
                )
                for n in box_indices
            ]
        )

    if not call.mask:
        return seq([expect, loads(0)])
    rank = instructions.cluster_rank()
    lowest = const((call.mask & -call.mask).bit_length() - 1, "int32")
    bit = tirx.bitwise_and(tirx.shift_right(const(call.mask, "int32"), rank), const(1, "int32"))
    is_for_all = call.mask == (1 << int(call.hints[CudaCallAttr.CLUSTER])) - 1
    alone = None if is_for_all else IfThenElse(EQ(bit, const(0, "int32")), loads(0), None)
    return seq([expect, IfThenElse(EQ(rank, lowest), loads(call.mask), alone, span=call.span)])


EXPLICIT_TMA_COPY = TileOpImpl(
    "cuda.tma_copy",
    "tensor map",
    lower,
    matches,
    late=True,
    needs_layouts=True,
    layouts=layouts,
    needs=(TileFunction,),
    leaves=(TensorMaps,),
)
