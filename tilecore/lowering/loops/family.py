"""The loops family: targets that run a block as plain (vector) loops on one core."""

from __future__ import annotations

from tilecore.lowering.apply_layouts import APPLY_LAYOUTS
from tilecore.lowering.flatten_buffers import FLATTEN_BUFFERS
from tilecore.lowering.fold_clears import FOLD_CLEARS
from tilecore.lowering.fuse_loops import FUSE_LOOPS
from tilecore.lowering.guard_bounds import GUARD_BOUNDS
from tilecore.lowering.hide_wraps import HIDE_WRAPS
from tilecore.lowering.inline_binds import INLINE_BINDS
from tilecore.lowering.lower_reducers import LOWER_REDUCERS
from tilecore.lowering.lower_tile_ops import LOWER_TILE_OPS
from tilecore.lowering.outline_kernels import OUTLINE_KERNELS
from tilecore.lowering.passes import Gap, Pass
from tilecore.lowering.plan_prefetches import PLAN_PREFETCHES
from tilecore.lowering.privatize_scratch import PRIVATIZE_SCRATCH
from tilecore.lowering.separate_overlaps import SEPARATE_OVERLAPS
from tilecore.lowering.thread_loops import THREAD_LOOPS
from tilecore.lowering.threads.checks import CHECK_THREADS
from tilecore.lowering.unpack_int4 import UNPACK_INT4
from tilecore.lowering.unroll_loops import UNROLL_LOOPS
from tilecore.lowering.vectorize_loops import VECTORIZE_LOOPS

STEPS: tuple[Pass | Gap, ...] = (
    INLINE_BINDS,
    HIDE_WRAPS,
    PRIVATIZE_SCRATCH,
    CHECK_THREADS,
    LOWER_REDUCERS,
    Gap("before_tile_ops"),
    FOLD_CLEARS,
    SEPARATE_OVERLAPS,
    PLAN_PREFETCHES,
    LOWER_TILE_OPS,
    APPLY_LAYOUTS,
    THREAD_LOOPS,
    Gap("after_tile_ops"),
    UNPACK_INT4,
    GUARD_BOUNDS,
    FUSE_LOOPS,
    FLATTEN_BUFFERS,
    Gap("before_vectorize"),
    VECTORIZE_LOOPS,
    UNROLL_LOOPS,
    Gap("before_outline"),
    OUTLINE_KERNELS,
)
