"""All implementations of tile operations that a backend may choose from: its own, and its family's."""

from __future__ import annotations

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.records import Backend


def implementations_of(backend: Backend) -> tuple[TileOpImpl, ...]:
    own = tuple(backend.lowering.implementations)
    if backend.lowering.family == "simt":
        from tilecore.lowering.simt.pipeline import IMPLEMENTATIONS

        return (*own, *IMPLEMENTATIONS)
    if backend.lowering.family != "loops":
        return own
    from tilecore.lowering import tile_ops
    from tilecore.lowering.loops import gemm
    from tilecore.lowering.tile_ops.discovery import implementations_in

    return (*own, *implementations_in(tile_ops), *gemm.IMPLEMENTATIONS)
