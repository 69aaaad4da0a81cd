"""The lowering of the ``metal`` target: the pipeline of the SIMT family, with tile operations of its own."""

from __future__ import annotations

from tilecore.contract.records import Lowering


def lowering() -> Lowering:
    """The family, the implementations of tile operations and the passes that this target adds or replaces."""
    return Lowering(family="simt")
