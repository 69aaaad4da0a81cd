"""Compares the shared memory that a kernel needs with what a block has, and uses the rest for more slots.

With more slots than the loop's ``num_stages`` more loads are in flight, and products wait less for memory. As many
blocks must fit on a multiprocessor as before.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from tile_cuda.lowering.hopper.pipelines import Pipeline
from tile_cuda.lowering.hopper.staging_memory import staging_bytes
from tile_cuda.lowering.hopper.tensor_adds import staged_calls
from tile_cuda.lowering.hopper.wgmma_config import wgmma_config_of
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import AllocBuffer, Evaluate, For, Stmt, Var
from tilecore.ir.scopes import is_fragment, is_shared
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.simt.state import threads_of_call

MOST_SLOTS = 6
MOST_SLOTS_OF_SEVERAL = 3  # where a loop has several pipelines: attention was slower with four (docs/notes/hopper.md)
RESERVED = 1024  # bytes of shared memory that the device keeps for each block
SPARE = 2048  # bytes: mbarriers, alignment, exchanges between warps
MBARRIERS = 512  # bytes
REDUCTIONS = 8192  # bytes: of kernels that reduce across warps


def add_slots(pipelines: list[Pipeline], code: Stmt, tensors: set[Var], resident: int, env: PassEnv) -> None:
    """Sets ``more`` of the pipelines that have several slots.

    tensors: buffers that a launch can make tensor maps of. resident: the blocks that a multiprocessor holds.
    """
    deep = [pipeline for pipeline in pipelines if pipeline.is_of_loop]
    calls = [call for node in collect(code, Evaluate) if (call := as_tile_call(node)) is not None]
    products = [call for call in calls if call.op.name == "gemm"]
    if not deep or any(isinstance(wgmma_config_of(c, env, threads_of_call(c, env)), str) for c in products):
        return
    limit = env.capabilities.shared_bytes
    if resident > 1:
        limit = (limit + RESERVED) // resident - RESERVED
    used = shared_bytes(pipelines, code, tensors, env) + _hidden_bytes(code, products)
    step = sum(pipeline.bytes for pipeline in deep)
    most = min(MOST_SLOTS if len(deep) == 1 else MOST_SLOTS_OF_SEVERAL, _useful(deep))
    more = max(0, min((limit - used) // step, most - max(pipeline.slots for pipeline in deep)))
    for pipeline in deep:
        pipeline.more = more
    _add_slots_of_blocks(pipelines, products, limit - used - more * step)


def _add_slots_of_blocks(pipelines: list[Pipeline], products: list[TileCall], rest: int) -> None:
    """Gives a second slot to tiles that a persistent block loads once for each of the user's blocks, if products read
    them to the end: else the loads of the next of the user's blocks begin when this one is done. rest: bytes."""
    operands = {operand.source for call in products for operand in (call.a, call.b)}
    for pipeline in sorted(pipelines, key=lambda pipeline: pipeline.bytes):
        owners = [tma_load.owner for tma_load in pipeline.all_loads]
        is_of_blocks = all(isinstance(o, For) and LoopAttr.USER_BLOCKS in o.annotations for o in owners)
        if is_of_blocks and not operands.isdisjoint(pipeline.tiles) and pipeline.bytes <= rest:
            pipeline.more, rest = 1, rest - pipeline.bytes


def blocks_by_memory(pipelines: list[Pipeline], code: Stmt, tensors: set[Var], env: PassEnv) -> int:
    """How many blocks a multiprocessor's shared memory holds."""
    needed = shared_bytes(pipelines, code, tensors, env) + MBARRIERS + _exchanged_bytes(code)
    return (env.capabilities.shared_bytes + RESERVED) // (needed + RESERVED)


def shared_bytes(pipelines: list[Pipeline], code: Stmt, tensors: set[Var], env: PassEnv) -> int:
    """The shared memory of a block in which no tiles share memory, without mbarriers.

    tensors: buffers that a launch can make tensor maps of. Staging memory of additions counts where it fits; else
    threads add.
    """
    tiles = {tile for pipeline in pipelines for tile in pipeline.tiles}
    own = [alloc.buffer for alloc in collect(code, AllocBuffer) if is_shared(alloc.buffer)]
    total = _bytes(buffer for buffer in own if buffer not in tiles)
    total += sum(pipeline.bytes * pipeline.slots for pipeline in pipelines)
    stores, adds = staged_calls(code, code, tensors, env)
    with_adds = total + staging_bytes([*stores, *adds], code, env)
    if with_adds + SPARE <= env.capabilities.shared_bytes:
        return with_adds
    return total + staging_bytes(stores, code, env)


def _hidden_bytes(code: Stmt, products: list[TileCall]) -> int:
    """Shared memory that the compiler may add: for reductions, and for fragments that have no common layout."""
    of_products = {operand.source for call in products for operand in (call.a, call.b, call.c)}
    buffers = [alloc.buffer for alloc in collect(code, AllocBuffer)]
    movable = [buffer for buffer in buffers if is_fragment(buffer) and buffer not in of_products]
    return _bytes(movable) + _exchanged_bytes(code) + SPARE


def _exchanged_bytes(code: Stmt) -> int:
    """Shared memory for reductions across warps."""
    calls = (as_tile_call(node) for node in collect(code, Evaluate))
    return REDUCTIONS if any(call is not None and call.op.name == "reduce" for call in calls) else 0


def _bytes(buffers: Iterable[Var]) -> int:
    return sum(prod(int(constant(s) or 0) for s in b.shape) * DType(dtype_of(b)).bits // 8 for b in buffers)


def _useful(deep: list[Pipeline]) -> int:
    """The most slots that loops use: as many as they have iterations, where that is constant."""
    owners = [tma_load.owner for pipeline in deep for tma_load in pipeline.all_loads]
    counts = [constant(owner.extent) for owner in owners if isinstance(owner, For)]
    return max((MOST_SLOTS if count is None else count for count in counts), default=MOST_SLOTS)
