"""Rewrites gemms so that they read operands from tensors themselves, and leaves out the copies that these were.

A copy goes only where the tile lies inside the tensor, so that no element of it would be read out of bounds, and where
nothing may write the tensor between the copy and the gemm.
"""

from __future__ import annotations

from collections.abc import Callable

from tilecore.contract.implementation import TileOpImpl, choose
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import constant, dtype_of, seq, statements_of
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import (
    BufferRegion,
    Call,
    PrimFunc,
    Range,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
)
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis
from tilecore.lowering.loops.moved_tiles import with_moved_regions, without_copies
from tilecore.lowering.loops.tile_uses import (
    KernelUses,
    Use,
    blocks_of,
    fills_operand,
    is_matrix_inside,
    knows_blocks_and_loops,
    note_copy,
    statements_between,
)

Wanted = Callable[[TileOpImpl, TileCall, PassEnv], frozenset[str]]
"""The names of the operands that an implementation wants to read from a tensor, as the call has them."""


def read_from_tensors(func: PrimFunc, env: PassEnv, wanted: Wanted, hint: str, what: str, how: str) -> PrimFunc:
    """The function without the copies of operands that all their gemms want as parts of tensors.

    hint: the hint of these gemms that gets the names of the operands. what, how: of the note on each copy, the word for
    it and what follows the name of its tensor.
    """
    memory = Memory(func.body)
    params = set(func.params)
    statements = []
    for statement in statements_of(func.body):
        copies = _unneeded_copies(statement, params, memory, env, wanted) if is_axis(statement) else []
        for copy in copies:
            name = str(copy.call.src.source.name)  # type: ignore[union-attr]
            note_copy(env, copy, what, name, f"{name} {how}")
        moved = {copy.call.dst.source: _in_tensor(copy.call.src) for copy in copies}  # type: ignore[union-attr]
        gone = [copy.statement for copy in copies]
        statements.append(without_copies(statement, gone, moved, hint) if copies else statement)
    return func.with_body(seq(statements))


def _unneeded_copies(kernel: Stmt, params: set[Var], memory: Memory, env: PassEnv, wanted: Wanted) -> list[Use]:
    levels, code = axes_and_code(kernel)
    blocks = blocks_of(levels)
    uses = KernelUses(code)
    copies = []
    for copy in uses.uses:
        if not fills_operand(copy, uses):
            continue
        source, filled = copy.call.src, copy.call.dst.source  # type: ignore[union-attr]
        if source.source not in params or dtype_of(source.source) != dtype_of(filled):
            continue
        if any(collect(r.min, TensorLoad, Call) for r in source.region):
            continue
        readers = [use for use in uses.of(filled) if use is not copy]
        if not readers or not all(_wants(use, filled, source, env, wanted) for use in readers):
            continue
        unchanged = not any(_may_change_between(copy, use, source.source, uses, memory) for use in readers)
        if unchanged and is_matrix_inside(source, filled, knows_blocks_and_loops(blocks, copy.loops)):
            copies.append(copy)
    return copies


def _wants(use: Use, buffer: Var, tile: TensorRegion, env: PassEnv, wanted: Wanted) -> bool:
    """Does the implementation of the gemm want this tile of a tensor rather than its copy in ``buffer``?"""
    call = use.call
    assert call is not None
    operand = "a" if call.a.source.same_as(buffer) else "b"
    on_tensor = as_tile_call(with_moved_regions(call, {buffer: _in_tensor(tile)}))
    assert on_tensor is not None
    return operand in wanted(choose(call, env.implementations, env).impl, on_tensor, env)


def _may_change_between(copy: Use, use: Use, tensor: Var, uses: KernelUses, memory: Memory) -> bool:
    """May a statement write the tensor after the copy and before the last time that ``use`` reads it?"""
    between = [*statements_between(copy, use, uses), use]
    return any(memory.may_change(writes_of(other.statement), tensor) for other in between)


def _in_tensor(tile: TensorRegion) -> Callable[[TensorRegion], TensorRegion]:
    """The part of the tensor of which ``tile`` was copied, for a region of the copy."""

    def moved(region: TensorRegion) -> TensorRegion:
        ranges = list(tile.region)
        for axis in (-2, -1):
            inner = region.region[axis]
            start = ranges[axis].min if constant(inner.min) == 0 else ranges[axis].min + inner.min
            ranges[axis] = Range.from_min_extent(start, inner.extent)
        return BufferRegion(tile.source, ranges)

    return moved
