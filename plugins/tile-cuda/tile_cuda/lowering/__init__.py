"""How the ``cuda`` target lowers: the SIMT family, with the matrix instructions of the hardware."""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import PassEdit
from tilecore.contract.records import Lowering
from tilecore.target import Target


def stand_in(target: Target) -> dict[str, Any]:
    """The TVM target for stock passes."""
    return {"kind": "cuda", "arch": str(target.get("arch", "sm_80"))}


def lowering() -> Lowering:
    from tile_cuda.lowering.collect_windows import COLLECT_WINDOWS
    from tile_cuda.lowering.describe_launch import DESCRIBE_LAUNCH
    from tile_cuda.lowering.group_quotients import GROUP_QUOTIENTS
    from tile_cuda.lowering.hopper.bound_blocks import BOUND_BLOCKS
    from tile_cuda.lowering.hopper.bulk_loads import BULK_LOAD
    from tile_cuda.lowering.hopper.bulk_stores import BULK_STORE
    from tile_cuda.lowering.hopper.chain_kernels import CHAIN_KERNELS
    from tile_cuda.lowering.hopper.describe_products import DESCRIBE_PRODUCTS
    from tile_cuda.lowering.hopper.drain_stores import DRAIN_STORES
    from tile_cuda.lowering.hopper.explicit_copies import EXPLICIT_COPY
    from tile_cuda.lowering.hopper.fence_writes import FENCE_WRITES
    from tile_cuda.lowering.hopper.hand_over_registers import REGISTERS
    from tile_cuda.lowering.hopper.number_groups import NUMBER_GROUPS
    from tile_cuda.lowering.hopper.place_roles import PLACE_ROLES
    from tile_cuda.lowering.hopper.ready_barriers import READ_BARRIERS, READY_BARRIERS
    from tile_cuda.lowering.hopper.specialize_warps import SPECIALIZE_WARPS
    from tile_cuda.lowering.hopper.wait_products import WAIT_PRODUCTS
    from tile_cuda.lowering.hopper.wait_within_exponentials import WAIT_WITHIN_EXPONENTIALS
    from tile_cuda.lowering.hopper.wgmma import EXPLICIT_WGMMA, FENCE, WGMMA
    from tile_cuda.lowering.keep_signs import KEEP_SIGNS
    from tile_cuda.lowering.mma import MMA_SYNC
    from tile_cuda.lowering.note_architecture import NOTE_ARCHITECTURE
    from tile_cuda.lowering.pair_bits import PAIR_BITS
    from tile_cuda.lowering.schedule_products import SCHEDULE_PRODUCTS
    from tile_cuda.lowering.shared_effects import describe

    describe()
    edits = (
        PassEdit("insert", "inline_binds", READ_BARRIERS, "before"),
        PassEdit("insert", "pipeline_loops", SPECIALIZE_WARPS, "before"),
        PassEdit("insert", "before_tile_ops", NOTE_ARCHITECTURE),
        PassEdit("insert", "before_tile_ops", COLLECT_WINDOWS),
        PassEdit("insert", "after_tile_ops", READY_BARRIERS),
        PassEdit("insert", "after_tile_ops", NUMBER_GROUPS),
        PassEdit("insert", "after_tile_ops", DRAIN_STORES),
        PassEdit("insert", "insert_barriers", WAIT_PRODUCTS),
        PassEdit("insert", "insert_barriers", WAIT_WITHIN_EXPONENTIALS),
        PassEdit("insert", "insert_barriers", FENCE_WRITES),
        PassEdit("insert", "insert_barriers", SCHEDULE_PRODUCTS),
        PassEdit("insert", "before_vectorize", PAIR_BITS),
        PassEdit("insert", "before_outline", PLACE_ROLES),
        PassEdit("insert", "before_outline", KEEP_SIGNS),
        PassEdit("insert", "before_outline", GROUP_QUOTIENTS),
        PassEdit("insert", "describe_hints", BOUND_BLOCKS),
        PassEdit("insert", "describe_hints", DESCRIBE_PRODUCTS),
        PassEdit("insert", "describe_kernels", DESCRIBE_LAUNCH),
        PassEdit("insert", "describe_kernels", CHAIN_KERNELS),
    )
    automatic = (WGMMA, MMA_SYNC, BULK_LOAD, BULK_STORE)
    explicit = (EXPLICIT_WGMMA, EXPLICIT_COPY, FENCE, REGISTERS)
    return Lowering(family="simt", stand_in=stand_in, implementations=(*automatic, *explicit), edits=edits)
