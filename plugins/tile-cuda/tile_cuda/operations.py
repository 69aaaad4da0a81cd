"""The tile operations that only this target has. The explicit forms of the language (T.tma_copy, ...) emit them."""

from __future__ import annotations

from tilecore.ir.tile_ops import TILE_OPS, TileOp, register_tile_op

KIND = "cuda"

# Copies a box between global and shared memory. barrier: an mbarrier; 0 for stores. mask: the blocks of the cluster
# that receive the box; 0: this block alone. arrive: the thread that starts the copy arrives at the barrier too.
# leaders: one of so many neighbouring threads starts the copy; 0: one of all threads that reach the statement.
TMA_COPY = register_tile_op(
    TileOp(
        "cuda.tma_copy",
        ("src:region", "dst:region", "barrier:expr", "mask:int", "arrive:int", "leaders:int"),
        ("src",),
        ("dst",),
    )
)
WGMMA_GEMM = register_tile_op(
    TileOp("cuda.wgmma_gemm", TILE_OPS["gemm"].operands, TILE_OPS["gemm"].reads, TILE_OPS["gemm"].writes)
)
# Orders accesses to a fragment: wgmma operations that have ended have written it, and later ones read its new values.
FENCE_OPERAND = register_tile_op(TileOp("cuda.fence_operand", ("buffer:region",), ("buffer",), ("buffer",)))
# Adds the parts of an accumulator that the blocks of a cluster have. parts: the blocks of the cluster. part: the rank
# of the block. axis: -1: the first block gets the whole sum; else block n gets the n-th of ``parts`` equal slices along
# this axis, and the rest is undefined. After it every block has arrived at the cluster's barrier and must still wait
# there, before it ends.
ADD_PARTS = register_tile_op(
    TileOp("cuda.add_parts", ("buffer:region", "parts:int", "part:expr", "axis:int"), ("buffer",), ("buffer",))
)
# Writes zeros to rows of the slots of a circular buffer: rows that its loads leave out (rows_inside.py).
CLEAR_ROWS = register_tile_op(TileOp("cuda.clear_rows", ("dst:region",), (), ("dst",)))
