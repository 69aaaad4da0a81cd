"""The lowering of the ``metal`` target: the pipeline of the SIMT family, with passes and tile operations of its own."""

from __future__ import annotations

from tilecore.contract.passes import PassEdit
from tilecore.contract.records import Lowering


def lowering() -> Lowering:
    """The family, the implementations of tile operations and the passes that this target adds or replaces."""
    from tile_metal.lowering.lower_allreduce import REDUCE_SIMDGROUPS
    from tile_metal.lowering.matrix import MATRIX
    from tile_metal.lowering.narrow_barriers import NARROW_BARRIERS
    from tile_metal.lowering.overlap_copies import OVERLAP_COPIES
    from tile_metal.lowering.shared_effects import describe

    describe()
    edits = (
        PassEdit("replace", "pipeline_loops", OVERLAP_COPIES),
        PassEdit("replace", "lower_allreduce", REDUCE_SIMDGROUPS),
        PassEdit("insert", "describe_hints", NARROW_BARRIERS),
    )
    return Lowering(family="simt", implementations=(MATRIX,), edits=edits)
