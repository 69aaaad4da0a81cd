"""T.atomic_add of a ``wgmma`` accumulator to float32 memory of the function's own (T.alloc_global).

Nobody else sees such memory, so it may have any layout: it is stored in blocks of 8 x 8 elements, row by row. The rows
and columns that one pair of registers of a warp covers (PTX ISA, "Register fragments for wgmma.mma_async") are then
256 neighbouring bytes, and threads add pairs by ``red.global.add.v2.f32``. That takes no way through shared memory,
whose bandwidth limits such kernels (docs/notes/attention.md, "Backward"). A row of a block is 32 bytes, a sector of the
cache, so other kernels read and write the tensor as fast as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_cuda.lowering.hopper.staged_accumulators import config_of_accumulator
from tile_cuda.lowering.hopper.tensor_adds import reason_against_operands
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import constant, op_name
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import AllocBuffer, Call, Evaluate, Stmt, TensorLoad, Var
from tilecore.ir.scopes import is_fragment
from tilecore.ir.thread_calls import ATOMIC_ELEMENT
from tilecore.ir.thread_walk import read_call
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.assumptions import is_multiple
from tilecore.lowering.simt.state import TileFunction
from tilecore.lowering.tile_ops.copies import axes_of
from tilecore.lowering.tile_ops.effects import lower_atomic

BLOCK = 8  # rows and columns


def matches(call: TileCall, env: PassEnv) -> str | None:
    body = env.state(TileFunction).function.body
    return _reason_against_add(call, body, env) or _reason_against_uses(call, body, env)


def _reason_against_add(call: TileCall, body: Stmt, env: PassEnv) -> str | None:
    """Why the addition, taken alone, is not one of blocks of 8 x 8 elements."""
    reason = reason_against_operands(call) or _reason_against_tile(call, body, env)
    if reason is not None:
        return reason
    for axis in axes_of(call.dst):
        size = constant(call.dst.source.shape[axis])
        if size is None or size % BLOCK:
            return f"axis {axis} of {call.dst.source.name} is not a multiple of {BLOCK} known when compiling"
        if not is_multiple(call.dst.region[axis].min, BLOCK, env.state(TileFunction).divisors):
            return f"the tile does not begin at a multiple of {BLOCK} along axis {axis}"
    return None


def _reason_against_tile(call: TileCall, body: Stmt, env: PassEnv) -> str | None:
    target = call.dst.source
    if not any(alloc.buffer.same_as(target) for alloc in collect(body, AllocBuffer)):
        return f"{target.name} is not memory of T.alloc_global"
    config = config_of_accumulator(call.value.source, body, env)
    if isinstance(config, str):
        return config
    axes = axes_of(call.dst)
    if [constant(call.dst.region[axis].extent) for axis in axes] != [config.m, config.n]:
        return "the shape of the tile is not that of the tensor's region"
    return None if axes[-1] == len(call.dst.region) - 1 else "the tile's columns are not along the last axis"


def _reason_against_uses(add: TileCall, body: Stmt, env: PassEnv) -> str | None:
    """Why the tensor must keep its layout: something takes its memory, or a tile of it, as it is declared."""
    tensor = add.dst.source
    for node in collect(body, Call):
        if any(isinstance(a, TensorLoad) and a.source.same_as(tensor) for a in _elements(node)):
            return f"{op_name(node)} may access more than one element of {tensor.name}"
    calls = [call for node in collect(body, Evaluate) if (call := as_tile_call(node)) is not None]
    for call in calls:
        if not any(region.source.same_as(tensor) for region in call.regions) or call.op.name == "fill":
            continue
        if call.op.name == "atomic":  # one that is not of blocks may be of a tensor map
            reason = _reason_against_add(call, body, env)
            if reason is None and axes_of(call.dst) != axes_of(add.dst):
                reason = "an addition has its rows along another axis"
        elif call.op.name == "copy":
            reason = _reason_against_copy(call, tensor, body, env)
        else:
            reason = f"{call.op.name} uses {tensor.name}"
        if reason is not None:
            return f"elsewhere: {reason}"
    return None


def _elements(call: Call) -> list[Any]:
    """The arguments that may stand for more than their value, such as the first element of several."""
    known = read_call(call)
    if op_name(call) == ATOMIC_ELEMENT:
        return []
    if known is None or op_name(call) == "address_of":
        return list(call.args)
    kinds = [argument.kind for argument in known.call.arguments]
    of_values = [kind.startswith("value") and known.call.pure for kind in kinds]
    return [value for value, is_value in zip(call.args, of_values, strict=False) if not is_value]


def _reason_against_copy(call: TileCall, tensor: Var, body: Stmt, env: PassEnv) -> str | None:
    """Only copies between the tensor and registers are surely done by threads, element by element."""
    other = call.src.source if call.dst.source.same_as(tensor) else call.dst.source
    if not is_fragment(other):
        return f"a copy between {tensor.name} and {other.scope()} memory"
    is_accumulator = not isinstance(config_of_accumulator(other, body, env), str)
    return f"a tensor map may store {other.name}" if is_accumulator and call.src.source.same_as(other) else None


def layouts(call: TileCall, env: PassEnv) -> dict[Var, BufferLayout]:
    return {call.dst.source: in_blocks(call.dst.source.shape, axes_of(call.dst)[0])}


def in_blocks(shape: Sequence[Any], rows: int) -> BufferLayout:
    """The layout of a tensor whose rows along axis ``rows`` and columns along the last axis are divided into blocks of
    8 x 8 elements, one after the other."""

    def place(indices: Sequence[Any]) -> list[Any]:
        outer = list(indices)
        outer[rows], outer[-1] = indices[rows] // BLOCK, indices[-1] // BLOCK
        return [*outer, indices[rows] % BLOCK, indices[-1] % BLOCK]

    outer = list(shape)
    outer[rows], outer[-1] = shape[rows] // BLOCK, shape[-1] // BLOCK
    return BufferLayout(f"blocks of 8 x 8 along axes {rows} and {len(outer) - 1}", (*outer, BLOCK, BLOCK), place)


SCRATCH_ADD = TileOpImpl(
    "atomic",
    "adds in blocks of 8 x 8",
    lower_atomic,
    matches,
    priority=45,
    layouts=layouts,
    needs_layouts=True,
    needs=(TileFunction,),
)
