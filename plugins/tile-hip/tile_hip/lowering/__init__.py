"""The lowering of the ``hip`` target: the pipeline of the SIMT family, with passes of its own."""

from __future__ import annotations

from tilecore.contract.passes import PassEdit
from tilecore.contract.records import Lowering


def lowering() -> Lowering:
    """The family, and the passes that this target adds or replaces."""
    from tile_hip.lowering import copy_directly, narrow_barriers
    from tile_hip.lowering.block_order import ORDER_BLOCKS

    copy_directly.describe()
    narrow_barriers.describe()
    edits = (
        PassEdit("insert", "vectorize_accesses", copy_directly.COPY_DIRECTLY),
        PassEdit("replace", "rasterize_blocks", ORDER_BLOCKS),
        PassEdit("insert", "describe_hints", narrow_barriers.NARROW_BARRIERS),
    )
    return Lowering(family="simt", edits=edits)
