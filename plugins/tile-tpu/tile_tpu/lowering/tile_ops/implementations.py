"""The implementations of tile operations that this backend has; where all decline, the loops family takes over."""

from __future__ import annotations

from tilecore.contract.implementation import TileOpImpl


def implementations() -> tuple[TileOpImpl, ...]:
    from tile_tpu.lowering.tile_ops import atomic, reduce, scan
    from tile_tpu.lowering.tile_ops.matrix import gemm

    return tuple(implementation for module in (gemm, reduce, scan, atomic) for implementation in module.IMPLEMENTATIONS)
