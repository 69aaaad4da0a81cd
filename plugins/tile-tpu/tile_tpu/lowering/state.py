"""State between the passes of tile-tpu (the mechanism: tilecore/contract/state.py)."""

from __future__ import annotations

from dataclasses import dataclass, field

from tile_tpu.ir.layouts import TileLayout
from tilecore.contract.state import PassState
from tilecore.ir.nodes import Var


@dataclass
class TileLayouts(PassState, by="assign_layouts"):
    """For each tile its local buffer, and its layout.

    Published by assign_layouts. Read by tensorize, address_tiles and the implementations of tile operations.
    """

    by_tile: dict[Var, tuple[Var, TileLayout]] = field(default_factory=dict)


@dataclass
class GuardedBuffers(PassState, collected=True):
    """The local buffers that commands access under a condition that holds in some iterations only.

    Added to by tensorize; fill_unwritten reads it.
    """

    buffers: set[Var] = field(default_factory=set)
