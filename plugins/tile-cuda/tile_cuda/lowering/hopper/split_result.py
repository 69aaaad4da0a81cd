"""Divides the result of a split loop among the blocks of its cluster (split_k.py), where the kernel only stores it.

Each block then adds and stores one slice of the tile, along M or N. The slices must be the same registers in every
thread, which the layout of the accumulator decides (add_parts.py): rows of multiply-adds, columns of ``wgmma``.
"""

from __future__ import annotations

from typing import Any

from tile_cuda.lowering.hopper.add_parts import one_of, registers_of_slices
from tilecore.contract.implementation import choose
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import const, constant, dtype_of
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.nodes import BufferRegion, Range, Stmt, TensorRegion, Var
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import TileCall, as_tile_call


def axis_of_slices(accumulator: Var, product: TileCall, store: Stmt, parts: int, threads: int, env: PassEnv) -> int:
    """The axis of the accumulator along which ``parts`` blocks can each store a slice of it; -1: there is none.

    product: one of those that add to it. store: the only statement that uses it after the loop.
    """
    copy = as_tile_call(store)
    if copy is None or copy.op.name != "copy" or not copy.src.source.same_as(accumulator) or not is_whole(copy.src):
        return -1
    if not is_global(copy.dst.source) or len(accumulator.shape) != 2:
        return -1
    extents = [constant(r.extent) for r in copy.dst.region]
    if extents[-2:] != [constant(size) for size in accumulator.shape] or any(extent != 1 for extent in extents[:-2]):
        return -1
    layout = choose(product, env.implementations, env).impl.fragments(product, env, threads).get(accumulator)
    if not isinstance(layout, FragmentLayout):
        return -1
    return next((axis for axis in (0, 1) if registers_of_slices(layout, axis, parts) is not None), -1)


def stores_of_slices(store: Stmt, axis: int, parts: int, part: Any) -> Stmt:
    """The statement by which each block stores its slice; ``part``: the block's rank in the cluster."""
    copy = as_tile_call(store)
    assert copy is not None
    size = int(constant(copy.src.region[axis].extent) or 0) // parts
    return one_of(part, [_slice(copy, axis, n * size, size) for n in range(parts)])


def _slice(copy: TileCall, axis: int, offset: int, size: int) -> Stmt:
    """The copy of rows or columns ``offset`` to ``offset + size``."""
    regions = {name: _part_of(region, axis, offset, size) for name, region in (("src", copy.src), ("dst", copy.dst))}
    operands = copy.op.operand_names()
    args = list(copy.call.args)
    for name, region in regions.items():
        args[operands.index(name)] = region
    return copy.rebuilt(args)


def _part_of(region: TensorRegion, axis: int, offset: int, size: int) -> TensorRegion:
    """A slice of a region, whose last two axes are those of the tile."""
    ranges = list(region.region)
    whole = ranges[axis - 2]
    dtype = dtype_of(whole.min)
    ranges[axis - 2] = Range.from_min_extent(whole.min + const(offset, dtype), const(size, dtype))
    return BufferRegion(region.source, ranges)
