"""Operations on tiles that only this target has: what the expert forms of the language put into tile IR."""

from __future__ import annotations

from tilecore.ir.tile_ops import TILE_OPS, TileOp, register_tile_op

KIND = "cuda"

# a box between global and shared memory. barrier: an element, 0 for stores. mask: of the cluster's blocks that get it,
# 0 for this one alone. arrive: does its thread arrive at the barrier too? leaders: one thread of so many starts it, 0:
# of all that come to it
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
# products that are done have written it, and those to come read what is in it
FENCE_OPERAND = register_tile_op(TileOp("cuda.fence_operand", ("buffer:region",), ("buffer",), ("buffer",)))
