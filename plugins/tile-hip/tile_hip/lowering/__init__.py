"""The lowering of the ``hip`` target: the pipeline of the SIMT family, with passes and tile operations of its own."""

from __future__ import annotations

from tilecore.contract.passes import PassEdit
from tilecore.contract.records import Lowering


def lowering() -> Lowering:
    """The family, the implementations of tile operations and the passes that this target adds or replaces."""
    from tile_hip.lowering.block_order import ORDER_BLOCKS
    from tile_hip.lowering.copy_directly import COPY_DIRECTLY
    from tile_hip.lowering.matrix import MATRIX
    from tile_hip.lowering.narrow_barriers import NARROW_BARRIERS
    from tile_hip.lowering.overlap_copies import OVERLAP_COPIES
    from tile_hip.lowering.shared_effects import describe

    describe()
    edits = (
        PassEdit("replace", "pipeline_loops", OVERLAP_COPIES),
        PassEdit("insert", "vectorize_accesses", COPY_DIRECTLY),
        PassEdit("replace", "rasterize_blocks", ORDER_BLOCKS),
        PassEdit("insert", "describe_hints", NARROW_BARRIERS),
    )
    return Lowering(family="simt", implementations=(MATRIX,), edits=edits)
