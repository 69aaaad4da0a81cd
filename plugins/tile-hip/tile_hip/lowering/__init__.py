"""The lowering of the ``hip`` target: the pipeline of the SIMT family, with passes and tile operations of its own."""

from __future__ import annotations

from tilecore.contract.passes import PassEdit
from tilecore.contract.records import Lowering


def lowering() -> Lowering:
    """The family, the implementations of tile operations and the passes that this target adds or replaces."""
    from tile_hip.lowering.block_order import ORDER_BLOCKS
    from tile_hip.lowering.matrix import MATRIX
    from tile_hip.lowering.shared_barriers import NARROW_BARRIERS
    from tile_hip.lowering.shared_effects import describe
    from tilecore.lowering.simt.prefetch_loops import PREFETCH_LOOPS

    describe()
    edits = (
        PassEdit("replace", "pipeline_loops", PREFETCH_LOOPS),
        PassEdit("replace", "rasterize_blocks", ORDER_BLOCKS),
        PassEdit("insert", "describe_hints", NARROW_BARRIERS),
    )
    return Lowering(family="simt", implementations=(MATRIX,), edits=edits)
