"""Names in the IR, and what is said of names that a target does not have, for modules that must not import TVM."""

from tilecore.ir.tile_op_table import TILE_OPS

TILE_OP_NAMES = [op.name for op in TILE_OPS.values() if not op.internal]  # of tile operations

MEMORY_ORDERS = ("relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst")  # of atomic operations

# what to write instead of a name that belongs to one chip
LEAVE_THE_CHOICE = "leave the choice to the target: T.copy in a T.Pipelined loop, and T.gemm, run on all of them"
