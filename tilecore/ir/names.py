"""Names in the IR, for modules that must not import TVM."""

from tilecore.ir.tile_op_table import TILE_OPS

TILE_OP_NAMES = [op.name for op in TILE_OPS.values() if not op.internal]  # of tile operations
