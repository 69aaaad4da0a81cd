"""Lists the SIMT family's passes, in order, and its implementations of tile operations."""

from __future__ import annotations

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import ExtensionPoint, Pass, PassEnv
from tilecore.ir.nodes import Evaluate, Stmt
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering import tile_ops as both_families
from tilecore.lowering.buffers.apply_layouts import APPLY_LAYOUTS
from tilecore.lowering.buffers.decode_scales import DECODE_SCALES
from tilecore.lowering.buffers.flatten_buffers import FLATTEN_BUFFERS
from tilecore.lowering.buffers.guard_bounds import GUARD_BOUNDS
from tilecore.lowering.buffers.outline_kernels import OUTLINE_KERNELS
from tilecore.lowering.buffers.place_dynamic_shared import PLACE_DYNAMIC_SHARED
from tilecore.lowering.buffers.unpack_int4 import UNPACK_INT4
from tilecore.lowering.normalize.check_threads import CHECK_THREADS
from tilecore.lowering.normalize.hide_wrapping_casts import HIDE_WRAPPING_CASTS
from tilecore.lowering.normalize.inline_binds import INLINE_BINDS
from tilecore.lowering.normalize.privatize_scratch import PRIVATIZE_SCRATCH
from tilecore.lowering.normalize.separate_overlaps import SEPARATE_OVERLAPS
from tilecore.lowering.normalize.shift_nests import SHIFT_NESTS
from tilecore.lowering.simt import tile_ops
from tilecore.lowering.simt.bind_threads import BIND_THREADS
from tilecore.lowering.simt.choose_tile_ops import CHOOSE_TILE_OPS
from tilecore.lowering.simt.describe_hints import DESCRIBE_HINTS, KERNEL_HINTS
from tilecore.lowering.simt.describe_kernels import DESCRIBE_KERNELS
from tilecore.lowering.simt.find_ranges import FIND_RANGES
from tilecore.lowering.simt.infer_layouts import INFER_LAYOUTS
from tilecore.lowering.simt.insert_barriers import INSERT_BARRIERS
from tilecore.lowering.simt.load_packed_bytes import LOAD_PACKED_BYTES
from tilecore.lowering.simt.lower_allreduce import LOWER_ALLREDUCE
from tilecore.lowering.simt.lower_shuffles import LOWER_SHUFFLES
from tilecore.lowering.simt.note_ranges import NOTE_RANGES
from tilecore.lowering.simt.pipeline_loops import PIPELINE_LOOPS
from tilecore.lowering.simt.place_ranges import PLACE_RANGES
from tilecore.lowering.simt.plan_shared import PLAN_SHARED
from tilecore.lowering.simt.rasterize_blocks import RASTERIZE_BLOCKS
from tilecore.lowering.simt.read_layouts import READ_LAYOUTS
from tilecore.lowering.simt.reduce_reducers import REDUCE_REDUCERS
from tilecore.lowering.simt.share_divisors import SHARE_DIVISORS
from tilecore.lowering.simt.sink_reductions import SINK_REDUCTIONS
from tilecore.lowering.simt.vectorize_accesses import VECTORIZE_ACCESSES
from tilecore.lowering.tile_ops.discovery import implementations_in

STEPS: tuple[Pass | ExtensionPoint, ...] = (
    INLINE_BINDS,
    HIDE_WRAPPING_CASTS,
    PRIVATIZE_SCRATCH,
    FIND_RANGES,
    CHECK_THREADS,
    NOTE_RANGES,
    SEPARATE_OVERLAPS,
    SHIFT_NESTS,
    READ_LAYOUTS,
    REDUCE_REDUCERS,
    SINK_REDUCTIONS,
    PIPELINE_LOOPS,
    ExtensionPoint("before_tile_ops"),
    CHOOSE_TILE_OPS,
    ExtensionPoint("before_layouts"),
    INFER_LAYOUTS,
    BIND_THREADS,
    APPLY_LAYOUTS,
    ExtensionPoint("after_tile_ops"),
    UNPACK_INT4,
    DECODE_SCALES,
    GUARD_BOUNDS,
    LOWER_ALLREDUCE,
    LOWER_SHUFFLES,
    PLAN_SHARED,
    INSERT_BARRIERS,
    LOAD_PACKED_BYTES,
    FLATTEN_BUFFERS,
    ExtensionPoint("before_vectorize"),
    VECTORIZE_ACCESSES,
    SHARE_DIVISORS,
    PLACE_RANGES,
    ExtensionPoint("before_outline"),
    RASTERIZE_BLOCKS,
    OUTLINE_KERNELS,
    PLACE_DYNAMIC_SHARED,
    DESCRIBE_KERNELS,
    DESCRIBE_HINTS,
)


def _lower_barrier(call: TileCall, env: PassEnv) -> Stmt:
    """Leaves the barrier unchanged, because later passes look for it."""
    return Evaluate(call.call, span=call.span)


IMPLEMENTATIONS = (
    *(i for i in implementations_in(both_families) if i.op not in ("sync_threads", "annotate")),
    *implementations_in(tile_ops),
    KERNEL_HINTS,
    TileOpImpl("sync_threads", "barrier", _lower_barrier, late=True),
)
