"""Collects what each block loads in kernels whose blocks load tiles, reduce them and store results.

That is for ``prefetch_later_blocks``. A tile counts if it is a contiguous part of a tensor, and if the parts of the
blocks follow one another. Kernels with loops other than T.Parallel, or with branches, are not concerned. In a kernel
whose grid is one row of clusters, these may stand behind the first reduction, where the blocks exchange results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tile_cuda.lowering.state import BlockTile, BlockTiles
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import KernelHint
from tilecore.ir.build import const, constant, dtype_of, statements_of
from tilecore.ir.nodes import (
    AttrStmt,
    BufferRegion,
    For,
    ForKind,
    IfThenElse,
    PrimFunc,
    Range,
    Stmt,
    TensorRegion,
    Var,
    While,
)
from tilecore.ir.tile_ops import TileCall, as_tile_call, last_hint
from tilecore.ir.visit import collect, loads, substitute
from tilecore.lowering.analysis.kernels import axes_and_code, kernels_of

REDUCTIONS = ("reduce", "finalize_reducer")


def collect_block_tiles(func: PrimFunc, env: PassEnv) -> PrimFunc:
    tensors = set(func.params)
    env.publish(BlockTiles([_tiles(kernel, tensors) for kernel in kernels_of(func.body)]))
    return func


def _tiles(kernel: Stmt, tensors: set[Var]) -> list[BlockTile]:
    levels, code = axes_and_code(kernel)
    block, part = axes_of_grid(levels, _axis_of_clusters(levels, code))
    if block is None or (part is None and _has_branches(code)):
        return []
    tiles: dict[Var, BlockTile] = {}
    for statement in statements_of(code):
        if _has_branches(statement):
            return []
        call = as_tile_call(statement)
        if call is not None and call.op.name in REDUCTIONS:
            return list(tiles.values())  # what a block loads behind its first reduction is loaded in time
        for region in _loaded(statement, call):
            tile = _tile(region, block.node.var, part) if region.source in tensors else None
            if tile is not None:
                tiles.setdefault(region.source, tile)
    return []


def _has_branches(code: Stmt) -> bool:
    """Has the code branches, or loops other than T.Parallel?"""
    return bool(collect(code, While, IfThenElse)) or any(loop.kind != ForKind.PARALLEL for loop in collect(code, For))


def axes_of_grid(levels: Sequence[AttrStmt], part_tag: str = "") -> tuple[AttrStmt | None, AttrStmt | None]:
    """The axis of a kernel's grid that has several blocks, and the one of this tag, along which lie those of a cluster.

    The first is None where no other axis has several blocks, or more than one has.
    """
    several = [level for level in levels if _tag(level).startswith("blockIdx") and constant(level.value) != 1]
    parts = [level for level in several if _tag(level) == part_tag]
    others = [level for level in several if _tag(level) != part_tag]
    return others[0] if len(others) == 1 else None, parts[0] if parts else None


def _axis_of_clusters(levels: Sequence[AttrStmt], code: Stmt) -> str:
    """The tag of the only axis along which the blocks of a cluster lie, if they are all blocks along it; else ""."""
    hint = last_hint(code, KernelHint.CLUSTER_DIMS)
    sizes = {} if hint is None else {f"blockIdx.{xyz}": constant(n) for xyz, n in zip("xyz", hint.rest, strict=True)}
    tags = [tag for tag, size in sizes.items() if size != 1]
    is_whole = [constant(level.value) == sizes[tags[0]] for level in levels if tags and _tag(level) == tags[0]]
    return tags[0] if len(tags) == 1 and is_whole == [True] else ""


def _tag(level: AttrStmt) -> str:
    return str(level.node.thread_tag)


def _loaded(statement: Stmt, call: TileCall | None) -> list[TensorRegion]:
    """The parts of memory that a copy or a parallel nest reads."""
    if call is not None:
        return [call.src] if call.op.name == "copy" else []
    nest = {loop.loop_var: loop for loop in collect(statement, For)}
    regions = []
    for access in loads(statement):
        ranges = [_range(index, nest) for index in access.indices]
        if len(ranges) == len(access.source.shape) and None not in ranges:
            regions.append(BufferRegion(access.source, ranges))
    return regions


def _range(index: Any, nest: dict[Var, For]) -> Range | None:
    """The range of an index that takes each value once over a nest, as ``i * 8 + j`` for j < 8; None for others."""
    steps = {var: coefficient(index, var) for var, loop in nest.items() if constant(loop.extent) != 1}
    extent = 1
    while moving := [var for var, step in steps.items() if step != 0]:
        next_var = next((var for var in moving if steps[var] == extent), None)
        count = None if next_var is None else constant(nest[next_var].extent)
        if next_var is None or count is None:
            return None
        extent *= count
        del steps[next_var]
    first = substitute(index, {var: loop.min for var, loop in nest.items()})
    return Range.from_min_extent(first, const(extent, dtype_of(index)))


def _tile(region: TensorRegion, block: Var, part: AttrStmt | None) -> BlockTile | None:
    """The region of a block, without what is behind the end of rows, if it is contiguous and only the block's index
    moves it, and in a cluster the block's index ``part`` along another axis."""
    steps = [coefficient(r.min, block) for r in region.region]
    moving = [axis for axis, step in enumerate(steps) if step != 0]
    extents = constants([r.extent for r in region.region])
    indices = [block] if part is None else [block, part.node.var]
    analyzer, first_block = Analyzer(), {index: const(0, dtype_of(index)) for index in indices}
    first = constants([analyzer.simplify(substitute(r.min, first_block)) for r in region.region])
    if len(moving) != 1 or extents is None or first is None or min(first) < 0 or list(region.source.strides):
        return None
    if DType(dtype_of(region.source)).bits < 8:
        return None  # a later pass makes another tensor of it, whose elements are bytes
    axis, sizes = moving[0], [constant(size) for size in region.source.shape]
    for n, size in enumerate(sizes):
        extents[n] = extents[n] if n == axis or size is None else min(extents[n], size - first[n])
    step, outer = steps[axis], next((n for n, extent in enumerate(extents) if extent != 1), axis)
    if any((first[n], extents[n]) != (0, sizes[n]) for n in range(outer + 1, len(sizes))):
        return None
    if axis > outer or not isinstance(step, int) or step < extents[axis] or min(extents) < 1:
        return None
    tile = BlockTile(str(region.source.name), axis, step, tuple(first), tuple(extents))
    return tile if part is None else _tile_of_part(tile, region, part)


def _tile_of_part(tile: BlockTile, region: TensorRegion, part: AttrStmt) -> BlockTile | None:
    """The tile of a block of a cluster, if the blocks' parts follow one another along one axis."""
    steps = [coefficient(r.min, part.node.var) for r in region.region]
    moving = [axis for axis, step in enumerate(steps) if step != 0]
    if len(moving) != 1 or moving[0] == tile.axis:
        return None
    step = steps[moving[0]]
    if not isinstance(step, int) or step < tile.extents[moving[0]]:
        return None
    return replace(tile, part_tag=_tag(part), part_axis=moving[0], part_step=step)


def constants(values: Sequence[Any]) -> list[int] | None:
    """The values as numbers, if all are known at compile time."""
    numbers = [number for number in map(constant, values) if number is not None]
    return numbers if len(numbers) == len(values) else None


COLLECT_BLOCK_TILES = Pass("collect_block_tiles", collect_block_tiles, leaves=(BlockTiles,))
