"""Prefetches to L2 what later blocks load, in kernels whose blocks load their tiles, reduce them and store the results.

A block of such a kernel (softmax, a norm, a sum of rows) computes nothing before all of its tile has arrived, and loads
nothing while it computes and stores. Blocks that started together do so at the same times, so that the memory waits for
the multiprocessors and they for it. Here one thread of each block prefetches, by one instruction for each tensor
(``cp.async.bulk.prefetch.L2``, PTX ISA "Data Movement and Conversion Instructions"), the tile of the block that is
``LOOKAHEAD`` bytes of tiles further on. Blocks start in the order of their indices, so loads then find their data in L2, and
memory always has work. The gain is 1 to 4 % of the bandwidth (docs/notes/gpu.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tile_cuda import instructions
from tile_cuda.operations import PREFETCH
from tile_cuda.options import BLOCK_PREFETCH
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import coefficient
from tilecore.ir.build import all_of, const, constant, dtype_of, load, seq, statements_of
from tilecore.ir.intrinsics import ADDRESS
from tilecore.ir.nodes import (
    EQ,
    AttrStmt,
    BufferRegion,
    For,
    ForKind,
    IfThenElse,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    TensorRegion,
    Var,
    While,
    structural_equal,
)
from tilecore.ir.scopes import is_global
from tilecore.ir.thread_ops import thread_call
from tilecore.ir.tile_ops import TileCall, as_tile_call, tile_statement
from tilecore.ir.visit import collect, loads, substitute
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis, rebuild_kernel
from tilecore.lowering.simt.thread_env import ThreadEnv

FEATURE = "bulk_copy"
LOOKAHEAD = 4 << 20  # bytes between what a block loads and what it prefetches: small beside L2, which is 50 MB on sm_90
LEAST = 1024  # bytes of a block's tiles: for fewer the instruction costs more than it gains
REDUCTIONS = ("reduce", "finalize_reducer")


def prefetch_later_blocks(func: PrimFunc, env: PassEnv) -> PrimFunc:
    requested = BLOCK_PREFETCH.value_in(env.config)
    lookahead = LOOKAHEAD if requested is None else int(requested)
    if FEATURE not in env.capabilities.features or lookahead <= 0:
        return func
    return func.with_body(_each(func.body, lookahead, env))


def _each(body: Stmt, lookahead: int, env: PassEnv) -> Stmt:
    if isinstance(body, SeqStmt):
        return SeqStmt([_each(part, lookahead, env) for part in body.seq], span=body.span)
    if not is_axis(body):
        return body
    levels, code = axes_and_code(body)
    block = _only_block_index(levels)
    tiles = [] if block is None else _tiles(code, block.node.var)
    size = sum(tile.bytes for tile in tiles)
    if block is None or size < LEAST:
        return body
    ahead = max(1, lookahead // size)
    count = constant(block.value)
    if count is not None and count <= ahead:
        return body
    names = ", ".join(dict.fromkeys(str(tile.region.source.name) for tile in tiles))
    env.note("notes", {"text": f"each block prefetches to L2 what the block {ahead} further on loads of {names}"})
    statements = [tile_statement(PREFETCH.name, [tile.later(block.node.var, ahead)], span=tile.span) for tile in tiles]
    return rebuild_kernel(levels, seq([*statements, *statements_of(code)]))


def _only_block_index(levels: Sequence[AttrStmt]) -> AttrStmt | None:
    """The axis of the grid, where it has no more than one with several blocks."""
    blocks = [level for level in levels if str(level.node.thread_tag).startswith("blockIdx")]
    several = [level for level in blocks if constant(level.value) != 1]
    return several[0] if len(several) == 1 else None


@dataclass(frozen=True)
class _Tile:
    """A contiguous part of a tensor that a block loads."""

    region: TensorRegion
    span: Any

    @property
    def bytes(self) -> int:
        return prod(int(constant(r.extent) or 0) for r in self.region.region) * DType(dtype_of(self.region.source)).bytes

    def later(self, block: Var, ahead: int) -> TensorRegion:
        """The part that the block ``ahead`` further on loads."""
        moved = {block: block + const(ahead, dtype_of(block))}
        ranges = [Range.from_min_extent(substitute(r.min, moved), r.extent) for r in self.region.region]
        return BufferRegion(self.region.source, ranges)


def _tiles(code: Stmt, block: Var) -> list[_Tile]:
    """What the blocks of a kernel load, each another part; nothing for kernels that this pass is not for."""
    if any(loop.kind != ForKind.PARALLEL for loop in collect(code, For)) or collect(code, While, IfThenElse):
        return []
    tiles: list[_Tile] = []
    is_reduced = False
    for statement in statements_of(code):
        call = as_tile_call(statement)
        if call is not None and call.op.name in REDUCTIONS:
            is_reduced = True
        if is_reduced:
            break  # what is loaded behind the reduction is in time
        for region in _loaded(statement, call):
            known = [tile for tile in tiles if tile.region.source == region.source]
            if _is_contiguous(region) and _moves_with(region, block) and not known:
                tiles.append(_Tile(region, statement.span))
    return tiles if is_reduced else []


def _loaded(statement: Stmt, call: TileCall | None) -> list[TensorRegion]:
    """The parts of tensors in global memory that a copy or a parallel nest reads."""
    if call is not None:
        return [call.src] if call.op.name == "copy" and is_global(call.src.source) else []
    nest = {loop.loop_var: loop for loop in collect(statement, For)}
    regions = []
    for access in loads(statement):
        ranges = [_range(index, nest) for index in access.indices]
        if is_global(access.source) and len(ranges) == len(access.source.shape) and None not in ranges:
            regions.append(BufferRegion(access.source, ranges))
    return regions


def _range(index: Any, nest: dict[Var, For]) -> Range | None:
    """The range of an index over a nest, of which it contains at most one loop variable, once; None for others."""
    steps = {var: coefficient(index, var) for var in nest}
    moving = [var for var, step in steps.items() if step != 0]
    if len(moving) > 1 or any(steps[var] != 1 for var in moving):
        return None
    first = substitute(index, {var: loop.min for var, loop in nest.items()})
    extent = nest[moving[0]].extent if moving else const(1, dtype_of(index))
    return Range.from_min_extent(first, extent)


def _is_contiguous(region: TensorRegion) -> bool:
    """Is it one piece of memory with a known size?"""
    extents = [constant(r.extent) for r in region.region]
    if None in extents or list(region.source.strides):
        return False
    first = next((n for n, extent in enumerate(extents) if extent != 1), len(extents) - 1)
    rest = zip(region.region[first + 1 :], region.source.shape[first + 1 :], strict=True)
    return all(constant(r.min) == 0 and structural_equal(r.extent, size) for r, size in rest)


def _moves_with(region: TensorRegion, block: Var) -> bool:
    """Do blocks load different parts, which follow one another along one axis?"""
    steps = [coefficient(r.min, block) for r in region.region]
    moving = [n for n, step in enumerate(steps) if step != 0]
    if len(moving) != 1:
        return False
    step, extent = steps[moving[0]], constant(region.region[moving[0]].extent)
    return isinstance(step, int) and extent is not None and step >= extent


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    """One thread prefetches the part, if all of it is in the tensor."""
    region, buffer = call.src.region, call.src.source
    is_first = EQ(env.binding.thread, const(0, "int32"))
    inside = [r.min + r.extent <= size for r, size in zip(region, buffer.shape, strict=True) if constant(r.min) is None]
    size = prod(int(constant(r.extent) or 0) for r in region) * DType(dtype_of(buffer)).bytes
    first = thread_call(ADDRESS, [load(buffer, [r.min for r in region]), "r"], dtype="handle")
    prefetch = instructions.prefetch_bulk_l2(first, size, call.span)
    return IfThenElse(all_of([is_first, *inside]), prefetch, None, span=call.span)


PREFETCH_LATER_BLOCKS = Pass("prefetch_later_blocks", prefetch_later_blocks)
TILE = TileOpImpl(PREFETCH.name, "bulk prefetch", lower, late=True)
