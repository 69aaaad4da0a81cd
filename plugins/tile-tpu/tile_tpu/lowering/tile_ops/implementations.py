"""The implementations of tile operations in this backend. Where all of them decline, the loops family lowers the
operation."""

from __future__ import annotations

from tilecore.contract.implementation import TileOpImpl


def implementations() -> tuple[TileOpImpl, ...]:
    from tile_tpu.lowering.tile_ops import atomic, reduce, scan
    from tile_tpu.lowering.tile_ops.matrix import gemm

    return tuple(implementation for module in (gemm, reduce, scan, atomic) for implementation in module.IMPLEMENTATIONS)
