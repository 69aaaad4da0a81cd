"""The shared memory in which accumulators are staged for tensor maps (staged_accumulators.py).

Copies of one kernel whose staging memory has the same shape and element type share it (wait_tma_stores.py). Additions
take memory beside the kernel's tiles, and only what is left.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from math import prod

from tile_cuda.lowering.hopper.role_statements import has_roles
from tile_cuda.lowering.hopper.staged_accumulators import kernel_with, source_of, staging_shape
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import AllocBuffer, Evaluate, For, Stmt, Var
from tilecore.ir.scopes import is_global, is_shared
from tilecore.ir.sizes import bytes_of
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect

OTHER_SHARED = 2048  # bytes: mbarriers and alignment


def staging_bytes(calls: Iterable[TileCall], body: Stmt, env: PassEnv, are_shared: bool = True) -> int:
    """The shared memory that copies of one kernel by tensor maps, and additions, take together.

    are_shared: whether those of the same shape and type take the same, as where warps have roles.
    """
    tiles = [(dtype_of(call.dst.source), staging_shape(call, body, env)) for call in calls]
    return sum(prod(shape) * DType(dtype).bytes for dtype, shape in (set(tiles) if are_shared else tiles))


def reason_of_memory(call: TileCall, body: Stmt, env: PassEnv, others: Iterable[TileCall] = ()) -> str | None:
    """Why the shared memory has no place for staging memory beside the kernel's tiles; None where it has.

    others: further copies of the kernel that need staging memory.
    """
    others, kernel = list(others), kernel_with(source_of(call).source, body)
    of_tiles = bytes_of_tiles(kernel) + OTHER_SHARED if others else bytes_of_tiles(body)
    staging, limit = staging_bytes([call, *others], body, env, has_roles(kernel)), env.capabilities.shared_bytes
    if of_tiles + staging <= limit:
        return None
    return f"its {staging} bytes of shared memory do not fit beside the kernel's tiles, of {of_tiles} bytes"


def bytes_of_tiles(code: Stmt) -> int:
    """The shared memory of all tiles that the code allocates, with the slots of pipelined loops."""
    slots = _slots(code)
    tiles = [alloc.buffer for alloc in collect(code, AllocBuffer) if is_shared(alloc.buffer)]
    return sum((bytes_of(tile) or 0) * slots.get(tile, 1) for tile in tiles)


def calls_in(code: Stmt, names: Container[str]) -> list[TileCall]:
    """The tile operations of these names."""
    calls = (as_tile_call(node) for node in collect(code, Evaluate))
    return [call for call in calls if call is not None and call.op.name in names]


def _slots(code: Stmt) -> dict[Var, int]:
    """The slots of the shared tiles that copies of pipelined loops fill from global memory."""
    slots: dict[Var, int] = {}
    for loop in collect(code, For):
        stages = int(loop.annotations.get(LoopAttr.STAGES, 1))
        for call in calls_in(loop.body, ("copy",)) if stages > 1 else ():
            if is_shared(call.dst.source) and is_global(call.src.source):
                slots[call.dst.source] = max(stages, slots.get(call.dst.source, 1))
    return slots
