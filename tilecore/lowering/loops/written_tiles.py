"""Whether a block may write its tile of a tensor earlier than the kernel says, although a call may pass that tensor
for another parameter, too."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import coefficient
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import Break, Continue, For, Range, TensorRegion, Var, structural_equal
from tilecore.ir.scopes import is_global
from tilecore.ir.visit import variables
from tilecore.lowering.loops.register_tiles import is_copied_in_passing
from tilecore.lowering.loops.tile_uses import KernelUses, Use, fills_operand


def is_apart(other: Var, copy: Use, uses: KernelUses, blocks: dict[Var, Any]) -> bool:
    """May the kernel be compiled as if no call passed one tensor for ``other``, which it reads, and for the tensor into
    which ``copy`` stores sums at the end?

    So it is where other blocks read that place of ``other``, for a result that they store: then such a call has no
    defined result, however the blocks' statements are ordered. And where only the gemm that makes the sums reads
    ``other``, and copies the columns of its tile in passing before it writes them.
    """
    tile, accumulator = copy.call.dst, copy.call.src.source  # type: ignore[union-attr]
    if not _have_one_form(other, tile.source):
        return False
    if any(isinstance(use.statement, (Break, Continue)) for use in uses.uses):
        return False  # some statements may not run
    readers = uses.of(other)
    if any(
        _other_blocks_read_the_tile(use, region, tile, blocks) for use, region in _regions(readers, copy, other, uses)
    ):
        return True
    first = uses.of(accumulator)[0]  # what clears the sums, or another gemm, would write the tile before it is read
    return len(readers) == 1 and readers[0] is first and _reads_columns_first(first, other, tile)


def _have_one_form(a: Var, b: Var) -> bool:
    """Do the two have one shape, without strides, and elements of one size?"""
    sizes = [[constant(size) for size in buffer.shape] for buffer in (a, b)]
    if sizes[0] != sizes[1] or None in sizes[0] or len(a.strides) or len(b.strides):
        return False
    return DType(dtype_of(a)).bits == DType(dtype_of(b)).bits


def _regions(readers: list[Use], copy: Use, buffer: Var, uses: KernelUses) -> list[tuple[Use, TensorRegion]]:
    """The regions of the buffer that gemms read in every block for sums that the block stores, with the statement that
    reads each: the gemm, or the copy that fills its operand."""
    regions: list[tuple[Use, TensorRegion]] = []
    for use in readers:
        if use.call is None or use.conditional or not _runs_as_often_as(copy, use):
            continue
        if use.call.op.name == "gemm" and _are_stored(use, uses):
            regions += [(use, region) for region in (use.call.a, use.call.b) if region.source.same_as(buffer)]
        elif fills_operand(use, uses) and any(_are_stored(other, uses) for other in uses.of(use.call.dst.source)):
            regions.append((use, use.call.src))
    return regions


def _runs_as_often_as(copy: Use, use: Use) -> bool:
    """Does the statement surely run where the copy does? The loops around it alone must have iterations."""
    depth = 0
    while depth < min(len(copy.loops), len(use.loops)) and copy.loops[depth].same_as(use.loops[depth]):
        depth += 1
    return all((constant(node.extent) or 0) >= 1 for node in use.loops[depth:])


def _are_stored(use: Use, uses: KernelUses) -> bool:
    """Does the block store the sums of this gemm, as the last that it does with them?"""
    if use.call is None or use.call.op.name != "gemm":
        return False
    last = uses.of(use.call.c.source)[-1]
    if last.call is None or last.call.op.name != "copy" or last.conditional:
        return is_global(use.call.c.source)
    return last.call.src.source.same_as(use.call.c.source) and is_global(last.call.dst.source)


def _other_blocks_read_the_tile(use: Use, read: TensorRegion, tile: TensorRegion, blocks: dict[Var, Any]) -> bool:
    """Do blocks that write other tiles read all of this one? ``read`` must not depend on an index of the grid that
    moves the tile, and along each axis it must be the tile's range, or in the loops around it pass the whole tensor."""
    used = set().union(*(variables(axis.min) for axis in read.region))
    shape = read.source.shape
    for var, extent in blocks.items():
        if (constant(extent) or 0) < 2 or var in used:
            continue
        if not any(var in variables(axis.min) for axis in tile.region):
            continue
        if all(
            _is_same(axis, of_tile) or _passes_all(axis, size, use.loops)
            for axis, of_tile, size in zip(read.region, tile.region, shape, strict=True)
        ):
            return True
    return False


def _is_same(a: Range, b: Range) -> bool:
    return bool(structural_equal(a.min, b.min) and structural_equal(a.extent, b.extent))


def _passes_all(axis: Range, size: Any, loops: tuple[For, ...]) -> bool:
    """Does the range cover the whole axis, by itself or in the iterations of one loop?"""
    extent, whole = constant(axis.extent), constant(size)
    if extent is None or whole is None:
        return False
    if constant(axis.min) == 0 and extent >= whole:
        return True
    for node in loops:
        count = constant(node.extent)
        if variables(axis.min) == {node.loop_var} and constant(node.min) == 0 and count is not None:
            return coefficient(axis.min, node.loop_var) == extent and extent * count >= whole
    return False


def _reads_columns_first(use: Use, other: Var, tile: TensorRegion) -> bool:
    """Is ``other`` the B of a gemm that runs once and copies it in passing, with the columns of the tile alone?"""
    call = use.call
    if any(constant(node.extent) != 1 for node in use.loops):
        return False  # it would read further rows after the tile is written
    if call is None or call.op.name != "gemm" or not is_copied_in_passing(call, "b") or call.transpose_b:
        return False
    if not call.b.source.same_as(other) or call.a.source.same_as(other):
        return False
    return _is_same(call.b.region[-1], tile.region[-1])
