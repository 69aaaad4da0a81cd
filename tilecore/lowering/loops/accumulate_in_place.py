"""Lets gemms accumulate in the tensor itself where the block would only copy its accumulator there at the end.

The accumulator must start from zero in the block, only gemms may use it, and the copy must write a tile that lies
inside the tensor. Where the tensor has another type, one gemm must make the sums, of all of K at once, and its
implementation must round them as it stores them. As the tensor is then written earlier, the kernel may read neither it
nor a tensor that a call may pass in its place (written_tiles.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.contract.implementation import choose
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.affine import coefficient
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import constant, dtype_of, seq, statements_of
from tilecore.ir.memory_writes import Memory
from tilecore.ir.nodes import (
    Break,
    BufferRegion,
    Call,
    Continue,
    For,
    PrimFunc,
    Range,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    is_buffer_var,
    structural_equal,
    tirx,
)
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.clears import cleared_buffer
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis
from tilecore.lowering.loops.moved_tiles import with_moved_regions, without_copies
from tilecore.lowering.loops.tile_uses import (
    KernelUses,
    Use,
    blocks_of,
    is_matrix_inside,
    knows_blocks_and_loops,
    note_copy,
)
from tilecore.lowering.loops.written_tiles import is_apart


def accumulate_in_place(func: PrimFunc, env: PassEnv) -> PrimFunc:
    memory = Memory(func.body)
    params = set(func.params)
    statements = []
    for statement in statements_of(func.body):
        copies = _last_copies(statement, params, memory, env) if is_axis(statement) else []
        for copy in copies:
            name = str(copy.call.dst.source.name)  # type: ignore[union-attr]
            note_copy(env, copy, "accumulated in place", name, f"the sums are accumulated in {name} itself")
        moved = {copy.call.src.source: _in_tensor(copy.call.dst) for copy in copies}  # type: ignore[union-attr]
        gone = [copy.statement for copy in copies]
        statements.append(without_copies(statement, gone, moved, CallAttr.IN_PLACE) if copies else statement)
    return func.with_body(seq(statements))


def _last_copies(kernel: Stmt, params: set[Var], memory: Memory, env: PassEnv) -> list[Use]:
    levels, code = axes_and_code(kernel)
    blocks = blocks_of(levels)
    uses = KernelUses(code)
    others = {var for use in uses.uses for var in use.variables if is_buffer_var(var) and is_global(var)}
    copies = []
    for copy in uses.uses:
        call = copy.call
        if call is None or call.op.name != "copy" or copy.conditional:
            continue
        accumulator, tensor = call.src.source, call.dst.source
        if accumulator not in uses.allocated or len(accumulator.shape) != 2 or not is_whole(call.src):
            continue
        if tensor not in params or tensor in memory.roots:
            continue
        if len(uses.of(tensor)) != 1 or any(collect(r.min, TensorLoad, Call) for r in call.dst.region):
            continue
        if not _is_sum(copy, uses):
            continue
        if any(memory.may_alias(tensor, other) and not is_apart(other, copy, uses, blocks) for other in others):
            continue
        if not _differs_by_block(call.dst, blocks):
            continue
        if not is_matrix_inside(call.dst, accumulator, knows_blocks_and_loops(blocks, copy.loops)):
            continue
        if dtype_of(tensor) == dtype_of(accumulator) or _is_rounded_by_its_gemm(copy, uses, env):
            copies.append(copy)
    return copies


def _is_rounded_by_its_gemm(copy: Use, uses: KernelUses, env: PassEnv) -> bool:
    """Does one gemm make the sums at once, and does its implementation round them to the type of the tensor?"""
    accumulator, tile = copy.call.src.source, copy.call.dst  # type: ignore[union-attr]
    calls = [use for use in uses.of(accumulator) if use.call is not None and use.call.op.name == "gemm"]
    if len(calls) != 1 or uses.of(accumulator)[0] is not calls[0]:
        return False  # another statement clears it
    if any(constant(around.extent) != 1 for around in calls[0].loops[len(copy.loops) :]):
        return False
    call = calls[0].call
    assert call is not None
    on_tensor = as_tile_call(with_moved_regions(call, {accumulator: _in_tensor(tile)}, CallAttr.IN_PLACE))
    assert on_tensor is not None
    return "c" in choose(call, env.implementations, env).impl.in_place(on_tensor, env)


def _differs_by_block(region: TensorRegion, blocks: dict[Var, Any]) -> bool:
    """Does each block have a region of its own? Blocks that write the same values to one region at the end would
    otherwise add to it at one time. Each index of the grid must move the region along an axis of its own, by at least
    the region's extent."""
    free = list(region.region)
    for var, extent in blocks.items():
        if constant(extent) == 1:
            continue
        axis = next((r for r in free if _moves(r, var)), None)
        if axis is None:
            return False
        free = [r for r in free if not r.same_as(axis)]
    return True


def _moves(axis: Range, var: Var) -> bool:
    """Is the start of the range, but for a constant, a multiple of ``var`` of at least its extent?"""
    step = coefficient(axis.min, var)
    return isinstance(step, int) and abs(step) >= (constant(axis.extent) or 0) > 0 and variables(axis.min) == {var}


def _is_sum(copy: Use, uses: KernelUses) -> bool:
    """Does the copied accumulator start from zero, and do only gemms in front of the copy use it?"""
    accumulator = copy.call.src.source  # type: ignore[union-attr]
    *earlier, last = uses.of(accumulator)
    if last is not copy or not earlier:
        return False
    depth = len(copy.loops)
    jumps = [use for use in uses.uses if isinstance(use.statement, (Break, Continue))]
    if depth and any(jump.loops == copy.loops for jump in jumps):
        return False  # it may skip the copy
    if any(use.loops[:depth] != copy.loops for use in earlier):
        return False
    products = earlier[1:] if _clears(earlier[0], accumulator) else earlier
    if not products or not all(_adds_products(use, accumulator) for use in products):
        return False
    first = earlier[0]
    if first.conditional:
        return False
    if first is not products[0]:
        return len(first.loops) == depth
    return _starts_from_zero(first, depth)


def _clears(use: Use, accumulator: Var) -> bool:
    buffer = cleared_buffer(use.statement)
    return buffer is not None and buffer.same_as(accumulator)


def _adds_products(use: Use, accumulator: Var) -> bool:
    call = use.call
    if call is None or call.op.name != "gemm" or not call.c.source.same_as(accumulator) or not is_whole(call.c):
        return False
    return not any(region.source.same_as(accumulator) for region in (call.a, call.b))


def _starts_from_zero(use: Use, depth: int) -> bool:
    """Does the gemm set its accumulator in the first iteration of the loop around it, if there is one?"""
    clear = use.call.clear_accum  # type: ignore[union-attr]
    if len(use.loops) == depth:
        return constant(clear) not in (None, 0)
    if len(use.loops) != depth + 1:
        return False
    loop: For = use.loops[-1]
    if (constant(loop.extent) or 0) < 1:
        return False
    return bool(structural_equal(clear, tirx.EQ(loop.loop_var, loop.min)))


def _in_tensor(tile: TensorRegion) -> Callable[[TensorRegion], TensorRegion]:
    """The tile of the tensor, for the whole accumulator."""
    return lambda whole: BufferRegion(tile.source, tile.region)


ACCUMULATE_IN_PLACE = Pass("accumulate_in_place", accumulate_in_place)
