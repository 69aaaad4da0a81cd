"""How the ``cuda`` target lowers: the SIMT family, with the matrix instructions of the hardware."""

from __future__ import annotations

from typing import Any

from tilecore.lowering.passes import PassEdit
from tilecore.plugins.backend import Lowering
from tilecore.target import Target


def stand_in(target: Target) -> dict[str, Any]:
    """The TVM target for stock passes."""
    return {"kind": "cuda", "arch": str(target.get("arch", "sm_80"))}


def lowering() -> Lowering:
    from tile_cuda.lowering.collect_windows import COLLECT_WINDOWS
    from tile_cuda.lowering.describe_launch import DESCRIBE_LAUNCH
    from tile_cuda.lowering.mma import MMA_SYNC
    from tile_cuda.lowering.note_architecture import NOTE_ARCHITECTURE
    from tile_cuda.lowering.schedule_products import SCHEDULE_PRODUCTS

    edits = (
        PassEdit("insert", "before_tile_ops", COLLECT_WINDOWS),
        PassEdit("insert", "before_tile_ops", NOTE_ARCHITECTURE),
        PassEdit("insert", "insert_barriers", SCHEDULE_PRODUCTS),
        PassEdit("insert", "describe_kernels", DESCRIBE_LAUNCH),
    )
    return Lowering(family="simt", stand_in=stand_in, implementations=(MMA_SYNC,), edits=edits)
