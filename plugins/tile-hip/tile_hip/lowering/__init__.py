"""The lowering of the ``hip`` target: the pipeline of the SIMT family, with tile operations of its own."""

from __future__ import annotations

from tilecore.contract.records import Lowering


def lowering() -> Lowering:
    """The family, and the implementations of tile operations that this target adds."""
    from tile_hip.lowering.matrix import MATRIX
    from tile_hip.lowering.shared_effects import describe

    describe()
    return Lowering(family="simt", implementations=(MATRIX,))
