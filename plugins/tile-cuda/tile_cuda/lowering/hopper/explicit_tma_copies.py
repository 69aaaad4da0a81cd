"""T.tma_copy: one of the threads that come to it starts a copy by a tensor map; who needs it waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.hopper.column_blocks import PATTERN, ColumnBlocks, column_blocks_of
from tile_cuda.lowering.hopper.tensor_maps import MapTable, Tiling, tiling_of_part
from tile_cuda.lowering.hopper.tma_loads import MAPS
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import const, constant, dtype_of, load, seq
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import EQ, IfThenElse, Stmt, TensorRegion, Var, tirx
from tilecore.ir.scopes import is_shared
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.analysis.assumptions import DIVISORS, is_multiple
from tilecore.lowering.simt.find_ranges import ALONE


@dataclass(frozen=True)
class Box:
    """A tile in shared memory and the map that moves it. rows, columns: where it begins; blocks: None: row by row."""

    tile: Var
    blocks: ColumnBlocks | None
    tiling: Tiling
    leading: tuple[Any, ...]
    row: Any
    column: Any

    def element(self, number: int) -> Any:
        """The first element of box ``number``."""
        block = self.tiling.boxes[number][0]
        further = const(block * (self.blocks.columns if self.blocks is not None else 0), dtype_of(self.column))
        rows = () if self.row is None else (self.row,)
        return load(self.tile, [*self.leading, *rows, self.column + further])


def box_of(call: TileCall, env: PassEnv) -> Box | str:
    """How a T.tma_copy is done, or which rule it breaks."""
    near, far = (call.dst, call.src) if is_shared(call.dst.source) else (call.src, call.dst)
    tile = near.source
    if dtype_of(tile) != dtype_of(far.source):
        return (
            f"{tile.name} is {dtype_of(tile)} and {far.source.name} {dtype_of(far.source)}: tensor maps convert nothing"
        )
    extents = [constant(r.extent) for r in near.region]
    if None in extents:
        return f"the size of the part of {tile.name} is not known when compiling"
    blocks = _blocks(near)
    fault = _part_fault(near, blocks, env)
    if fault:
        return fault
    shape = tuple(int(extent or 0) for extent in extents)
    tiling = tiling_of_part(far, shape, blocks, env.facts[DIVISORS])
    if isinstance(tiling, str):
        return tiling
    places = [r.min for r in near.region]
    row = places[-2] if len(places) > 1 else None
    return Box(tile, blocks, tiling, tuple(places[:-2]), row, places[-1])


def _blocks(near: TensorRegion) -> ColumnBlocks | None:
    """How the tile is kept: in blocks of columns, if rows enough are moved at once."""
    rows = constant(near.region[-2].extent) if len(near.region) > 1 else None
    return column_blocks_of(near.source) if rows is not None and rows % PATTERN == 0 else None


def _part_fault(near: TensorRegion, blocks: ColumnBlocks | None, env: PassEnv) -> str | None:
    """Why the part of the tile is no box of memory."""
    tile, last = near.source, near.region[-1]
    whole = constant(last.extent) == constant(tile.shape[-1])
    if blocks is None:
        rows = [constant(r.extent) for r in near.region[:-1]]
        first = next((n for n, extent in enumerate(rows) if extent != 1), len(rows))
        kept = zip(near.region[first + 1 :], tile.shape[first + 1 :], strict=True)
        if not all(constant(r.extent) == constant(size) for r, size in kept):
            return f"the part of {tile.name} does not lie side by side in shared memory"
        return None if whole or first == len(rows) else f"a part of the rows of {tile.name}"
    divisors = env.facts[DIVISORS]
    if any(constant(r.extent) != 1 for r in near.region[:-2]):
        return f"several tiles of {tile.name} at once"
    if not is_multiple(near.region[-2].min, PATTERN, divisors):
        return f"the rows of {tile.name} do not begin at a multiple of {PATTERN}"
    columns = blocks.columns
    if (not whole and (constant(last.extent) or 0) % columns) or not is_multiple(last.min, columns, divisors):
        return f"the columns of {tile.name} are no whole blocks of {columns}"
    return None


def matches(call: TileCall, env: PassEnv) -> str | None:
    found = box_of(call, env)
    return found if isinstance(found, str) else None


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    near = call.dst if is_shared(call.dst.source) else call.src
    blocks = _blocks(near)
    shape = tuple(int(constant(size) or 0) for size in near.source.shape)
    return {near.source: BufferLayout("row by row", shape, list) if blocks is None else blocks.layout}


def lower(call: TileCall, env: PassEnv) -> Stmt:
    box = box_of(call, env)
    assert isinstance(box, Box)
    name = env.facts.setdefault(MAPS, MapTable()).name_of(box.tiling)
    work = _loads(call, box, name) if is_shared(call.dst.source) else _stores(call, box, name)
    if ALONE in call.hints:
        return work
    number = env.facts["binding"].thread
    if call.leaders:
        number = number % const(call.leaders, "int32")
    return IfThenElse(EQ(number, const(0, "int32")), work, None, span=call.span)


def _stores(call: TileCall, box: Box, name: str) -> Stmt:
    made = [
        instructions.tensor_store(name, box.element(n), box.tiling.coordinates(n), call.span, explicit=True)
        for n in range(len(box.tiling.boxes))
    ]
    return seq([*made, instructions.stores("commit_stores", span=call.span)])


def _loads(call: TileCall, box: Box, name: str) -> Stmt:
    count = range(len(box.tiling.boxes))
    size = const(box.tiling.bytes * len(box.tiling.boxes), "int32")
    expect = instructions.transaction("arrive_expect" if call.arrive else "expect", call.barrier, size, span=call.span)

    def loads(mask: int) -> Stmt:
        return seq(
            [
                instructions.tensor_load(
                    name, box.element(n), call.barrier, box.tiling.coordinates(n), call.span, mask=mask
                )
                for n in count
            ]
        )

    if not call.mask:
        return seq([expect, loads(0)])
    rank = instructions.cluster_rank()
    lowest = const((call.mask & -call.mask).bit_length() - 1, "int32")
    bit = tirx.bitwise_and(tirx.shift_right(const(call.mask, "int32"), rank), const(1, "int32"))
    is_for_all = call.mask == (1 << int(call.hints["cluster"])) - 1
    alone = None if is_for_all else IfThenElse(EQ(bit, const(0, "int32")), loads(0), None)
    return seq([expect, IfThenElse(EQ(rank, lowest), loads(call.mask), alone, span=call.span)])


EXPLICIT_COPY = TileOpImpl(
    "cuda.tma_copy", "tensor map", lower, matches, late=True, needs_layouts=True, layouts=layouts
)
