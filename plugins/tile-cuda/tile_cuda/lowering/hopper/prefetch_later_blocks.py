"""Prefetches to L2 what later blocks load, in kernels whose blocks load tiles, reduce them and store results.

A block of such a kernel (softmax, a norm, a sum of rows) computes nothing before all of its tile has arrived, and loads
nothing while it computes and stores. Blocks that started together do so at the same times, so that the memory waits for
the multiprocessors, and they wait for it. Here one thread of each block prefetches the tile of a later block by one
instruction (``cp.async.bulk.prefetch.L2``, PTX ISA, "Data Movement and Conversion Instructions"). Blocks start in the
order of their indices; loads then find their data in L2, and memory always has work. docs/notes/gpu.md has the gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tile_cuda import instructions
from tile_cuda.lowering.hopper.collect_block_tiles import axes_of_grid
from tile_cuda.lowering.state import BlockTile, BlockTiles
from tile_cuda.options import BLOCK_PREFETCH
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, const, constant, dtype_of, load, seq, statements_of
from tilecore.ir.nodes import EQ, AttrStmt, Expr, IfThenElse, PrimFunc, SeqStmt, Stmt, Var
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis, rebuild_kernel, threads_of

FEATURE = "bulk_copy"
AHEAD = 4 << 20  # bytes of tiles from a block to the one that it prefetches for; L2 has 50 MB on sm_90
LEAST = 1024  # bytes of the tiles of a block: for fewer the instruction costs more than it gains


def prefetch_later_blocks(func: PrimFunc, env: PassEnv) -> PrimFunc:
    requested = BLOCK_PREFETCH.value_in(env.config)
    ahead = AHEAD if requested is None else int(requested)
    if FEATURE not in env.capabilities.features or ahead <= 0:
        return func
    tiles = iter(env.state(BlockTiles).by_kernel)
    tensors = {str(param.name): param for param in func.params}

    def change(body: Stmt) -> Stmt:
        if isinstance(body, SeqStmt):
            return SeqStmt([change(part) for part in body.seq], span=body.span)
        return _with_prefetch(body, next(tiles), tensors, ahead, env) if is_axis(body) else body

    return func.with_body(change(func.body))


def _with_prefetch(
    kernel: Stmt, tiles: Sequence[BlockTile], tensors: Mapping[str, Var], ahead: int, env: PassEnv
) -> Stmt:
    levels, code = axes_and_code(kernel)
    block, part = axes_of_grid(levels, tiles[0].part_tag if tiles else "")
    size = sum(_bytes(tile, tensors[tile.tensor]) for tile in tiles)
    if block is None or size < LEAST:
        return kernel
    parts = 1 if part is None else int(constant(part.value) or 1)
    distance, count = max(1, ahead // (size * parts)), constant(block.value)
    if count is not None and count <= distance:
        return kernel
    names = ", ".join(tile.tensor for tile in tiles)
    other = "the block" if part is None else "its block of the cluster"
    env.note("notes", {"text": f"each block prefetches to L2 what {other} {distance} further on loads of {names}"})
    is_first = EQ(Analyzer().simplify(threads_of(levels).linear_index()), const(0, "int32"))
    prefetches = [_prefetch(tile, tensors[tile.tensor], block, part, distance) for tile in tiles]
    return rebuild_kernel(levels, seq([IfThenElse(is_first, seq(prefetches), None), *statements_of(code)]))


def _bytes(tile: BlockTile, tensor: Var) -> int:
    return prod(tile.extents) * DType(dtype_of(tensor)).bits // 8


def _prefetch(tile: BlockTile, tensor: Var, block: AttrStmt, part: AttrStmt | None, distance: int) -> Stmt:
    """The prefetch of the tile of the block ``distance`` further on, if all of it is in the tensor."""
    index, analyzer = block.node.var, Analyzer()
    start: list[Expr] = [const(first, dtype_of(index)) for first in tile.first]
    start[tile.axis] = (index + const(distance, dtype_of(index))) * tile.step + tile.first[tile.axis]
    known = [axis for axis in range(len(start)) if axis != tile.axis]
    if part is not None:
        analyzer.bind(part.node.var, part.node.dom)
        start[tile.part_axis] = part.node.var * tile.part_step + tile.first[tile.part_axis]
        known.remove(tile.part_axis)
    moving = [axis for axis in range(len(start)) if axis not in known]
    inside = [start[axis] + tile.extents[axis] <= tensor.shape[axis] for axis in moving]
    inside += [const(tile.first[axis] + tile.extents[axis], "int32") <= tensor.shape[axis] for axis in known]
    needed = [bound for bound in inside if not analyzer.can_prove(bound)]
    prefetch = instructions.prefetch_bulk_l2(load(tensor, start), _bytes(tile, tensor))
    return IfThenElse(all_of(needed), prefetch, None) if needed else prefetch


PREFETCH_LATER_BLOCKS = Pass("prefetch_later_blocks", prefetch_later_blocks, needs=(BlockTiles,))
