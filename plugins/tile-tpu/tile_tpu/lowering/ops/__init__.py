"""Tile operations as commands of the tensor unit and DMA. One file an operation; where it declines, the loops family
takes over."""

from __future__ import annotations

from tilecore.contract.implementation import TileOpImpl


def implementations() -> tuple[TileOpImpl, ...]:
    from tile_tpu.lowering.ops import atomic, gemm, reduce, scan

    rooms = (gemm, reduce, scan, atomic)
    return tuple(impl for room in rooms for impl in room.IMPLEMENTATIONS)
