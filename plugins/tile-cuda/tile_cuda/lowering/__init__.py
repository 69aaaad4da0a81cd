"""The lowering of the ``cuda`` target: the pipeline of the SIMT family, with passes and tile operations of its own."""

from __future__ import annotations

from tilecore.contract.passes import PassEdit
from tilecore.contract.records import Lowering


def lowering() -> Lowering:
    """The family, the implementations of tile operations and the passes that this target adds."""
    from tile_cuda.lowering.batch_divisions import BATCH_DIVISIONS
    from tile_cuda.lowering.collect_windows import COLLECT_WINDOWS
    from tile_cuda.lowering.contract_products import CONTRACT_PRODUCTS
    from tile_cuda.lowering.describe_launch import DESCRIBE_LAUNCH
    from tile_cuda.lowering.hopper.add_parts import ADD_PARTS
    from tile_cuda.lowering.hopper.bind_warpgroup_index import BIND_WARPGROUP_INDEX
    from tile_cuda.lowering.hopper.collect_block_tiles import COLLECT_BLOCK_TILES
    from tile_cuda.lowering.hopper.collect_mbarriers import COLLECT_MBARRIERS
    from tile_cuda.lowering.hopper.describe_wgmma import DESCRIBE_WGMMA
    from tile_cuda.lowering.hopper.explicit_tma_copies import EXPLICIT_TMA_COPY
    from tile_cuda.lowering.hopper.fuse_staged_stores import FUSE_STAGED_STORES
    from tile_cuda.lowering.hopper.init_mbarriers import INIT_MBARRIERS
    from tile_cuda.lowering.hopper.insert_proxy_fences import INSERT_PROXY_FENCES
    from tile_cuda.lowering.hopper.keep_operands import KEEP_OPERANDS
    from tile_cuda.lowering.hopper.lower_warp_roles import LOWER_WARP_ROLES
    from tile_cuda.lowering.hopper.order_tma_copies import ORDER_TMA_COPIES
    from tile_cuda.lowering.hopper.pingpong_warpgroups import PINGPONG_WARPGROUPS
    from tile_cuda.lowering.hopper.prefetch_later_blocks import PREFETCH_LATER_BLOCKS
    from tile_cuda.lowering.hopper.programmatic_dependent_launch import (
        DEPENDENT_LAUNCH,
        PROGRAMMATIC_DEPENDENT_LAUNCH,
    )
    from tile_cuda.lowering.hopper.rows_inside import ROWS
    from tile_cuda.lowering.hopper.scratch_adds import SCRATCH_ADD
    from tile_cuda.lowering.hopper.set_launch_bounds import SET_LAUNCH_BOUNDS
    from tile_cuda.lowering.hopper.setmaxnreg import SETMAXNREG
    from tile_cuda.lowering.hopper.specialize_warps import SPECIALIZE_WARPS
    from tile_cuda.lowering.hopper.stage_tma_copies import STAGE_TMA_COPIES
    from tile_cuda.lowering.hopper.store_matrices import STORE_MATRICES
    from tile_cuda.lowering.hopper.tensor_adds import TMA_ADD
    from tile_cuda.lowering.hopper.tma_loads import TMA_LOAD
    from tile_cuda.lowering.hopper.tma_stores import TMA_STORE
    from tile_cuda.lowering.hopper.wait_tma_stores import WAIT_TMA_STORES
    from tile_cuda.lowering.hopper.wait_wgmma import WAIT_WGMMA
    from tile_cuda.lowering.hopper.wait_within_exponentials import WAIT_WITHIN_EXPONENTIALS
    from tile_cuda.lowering.hopper.wgmma import EXPLICIT_WGMMA, FENCE, WGMMA
    from tile_cuda.lowering.keep_signs import KEEP_SIGNS
    from tile_cuda.lowering.mma import MMA_SYNC
    from tile_cuda.lowering.name_barriers import NAME_BARRIERS
    from tile_cuda.lowering.note_architecture import NOTE_ARCHITECTURE
    from tile_cuda.lowering.pair_bits import PAIR_BITS
    from tile_cuda.lowering.pair_floats import PAIR_FLOATS
    from tile_cuda.lowering.schedule_mma import SCHEDULE_MMA
    from tile_cuda.lowering.shared_effects import describe

    describe()
    edits = (
        PassEdit("insert", "inline_binds", NAME_BARRIERS, "before"),
        PassEdit("insert", "inline_binds", STAGE_TMA_COPIES, "before"),
        PassEdit("insert", "inline_binds", CONTRACT_PRODUCTS, "before"),
        PassEdit("insert", "inline_binds", COLLECT_MBARRIERS, "before"),
        PassEdit("insert", "pipeline_loops", FUSE_STAGED_STORES, "before"),
        PassEdit("insert", "pipeline_loops", SPECIALIZE_WARPS, "before"),
        PassEdit("insert", "before_tile_ops", ORDER_TMA_COPIES),
        PassEdit("insert", "before_tile_ops", COLLECT_BLOCK_TILES),
        PassEdit("insert", "before_tile_ops", NOTE_ARCHITECTURE),
        PassEdit("insert", "before_tile_ops", COLLECT_WINDOWS),
        PassEdit("insert", "after_tile_ops", INIT_MBARRIERS),
        PassEdit("insert", "after_tile_ops", BIND_WARPGROUP_INDEX),
        PassEdit("insert", "after_tile_ops", WAIT_TMA_STORES),
        PassEdit("insert", "insert_barriers", WAIT_WGMMA),
        PassEdit("insert", "insert_barriers", WAIT_WITHIN_EXPONENTIALS),
        PassEdit("insert", "insert_barriers", KEEP_OPERANDS),
        PassEdit("insert", "insert_barriers", INSERT_PROXY_FENCES),
        PassEdit("insert", "insert_barriers", PINGPONG_WARPGROUPS),
        PassEdit("insert", "insert_barriers", SCHEDULE_MMA),
        PassEdit("insert", "insert_barriers", PREFETCH_LATER_BLOCKS),
        PassEdit("insert", "before_vectorize", PAIR_BITS),
        PassEdit("insert", "before_vectorize", STORE_MATRICES),
        PassEdit("insert", "before_outline", LOWER_WARP_ROLES),
        PassEdit("insert", "before_outline", KEEP_SIGNS),
        PassEdit("insert", "before_outline", BATCH_DIVISIONS),
        PassEdit("insert", "before_outline", PAIR_FLOATS),
        PassEdit("insert", "describe_hints", SET_LAUNCH_BOUNDS),
        PassEdit("insert", "describe_hints", DESCRIBE_WGMMA),
        PassEdit("insert", "describe_kernels", DESCRIBE_LAUNCH),
        PassEdit("insert", "describe_kernels", PROGRAMMATIC_DEPENDENT_LAUNCH),
    )
    automatic = (WGMMA, MMA_SYNC, TMA_LOAD, TMA_STORE, SCRATCH_ADD, TMA_ADD, ADD_PARTS, ROWS)
    explicit = (EXPLICIT_WGMMA, EXPLICIT_TMA_COPY, FENCE, SETMAXNREG, DEPENDENT_LAUNCH)
    return Lowering(family="simt", implementations=(*automatic, *explicit), edits=edits)
