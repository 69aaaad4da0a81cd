"""The loops family: targets that run a block as plain (vector) loops on one core."""

from __future__ import annotations

from tilecore.contract.passes import ExtensionPoint, Pass
from tilecore.lowering.buffers.apply_layouts import APPLY_LAYOUTS
from tilecore.lowering.buffers.decode_scales import DECODE_SCALES
from tilecore.lowering.buffers.flatten_buffers import FLATTEN_BUFFERS
from tilecore.lowering.buffers.guard_bounds import GUARD_BOUNDS
from tilecore.lowering.buffers.outline_kernels import OUTLINE_KERNELS
from tilecore.lowering.buffers.place_dynamic_shared import PLACE_DYNAMIC_SHARED
from tilecore.lowering.buffers.unpack_int4 import UNPACK_INT4
from tilecore.lowering.loops.drop_dead_stores import DROP_DEAD_STORES
from tilecore.lowering.loops.fold_clears import FOLD_CLEARS
from tilecore.lowering.loops.fuse_loops import FUSE_LOOPS
from tilecore.lowering.loops.lower_reducers import LOWER_REDUCERS
from tilecore.lowering.loops.lower_tile_ops import LOWER_TILE_OPS
from tilecore.lowering.loops.plan_prefetches import PLAN_PREFETCHES
from tilecore.lowering.loops.thread_loops import THREAD_LOOPS
from tilecore.lowering.loops.unroll_loops import UNROLL_LOOPS
from tilecore.lowering.loops.vectorize_loops import VECTORIZE_LOOPS
from tilecore.lowering.normalize.check_threads import CHECK_THREADS
from tilecore.lowering.normalize.hide_wrapping_casts import HIDE_WRAPPING_CASTS
from tilecore.lowering.normalize.inline_binds import INLINE_BINDS
from tilecore.lowering.normalize.privatize_scratch import PRIVATIZE_SCRATCH
from tilecore.lowering.normalize.separate_overlaps import SEPARATE_OVERLAPS

STEPS: tuple[Pass | ExtensionPoint, ...] = (
    INLINE_BINDS,
    HIDE_WRAPPING_CASTS,
    PRIVATIZE_SCRATCH,
    CHECK_THREADS,
    LOWER_REDUCERS,
    ExtensionPoint("before_tile_ops"),
    FOLD_CLEARS,
    SEPARATE_OVERLAPS,
    PLAN_PREFETCHES,
    LOWER_TILE_OPS,
    APPLY_LAYOUTS,
    THREAD_LOOPS,
    ExtensionPoint("after_tile_ops"),
    UNPACK_INT4,
    DECODE_SCALES,
    GUARD_BOUNDS,
    FUSE_LOOPS,
    DROP_DEAD_STORES,
    FLATTEN_BUFFERS,
    ExtensionPoint("before_vectorize"),
    VECTORIZE_LOOPS,
    UNROLL_LOOPS,
    ExtensionPoint("before_outline"),
    OUTLINE_KERNELS,
    PLACE_DYNAMIC_SHARED,
)
