"""Lists the implementations of tile operations that a backend may choose from: its own, and those of its family."""

from __future__ import annotations

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.records import Backend


def implementations_of(backend: Backend) -> tuple[TileOpImpl, ...]:
    backend_implementations = tuple(backend.lowering.implementations)
    if backend.lowering.family == "simt":
        from tilecore.lowering.simt.pipeline import IMPLEMENTATIONS

        return (*backend_implementations, *IMPLEMENTATIONS)
    if backend.lowering.family != "loops":
        return backend_implementations
    from tilecore.lowering import tile_ops
    from tilecore.lowering.loops import gemm
    from tilecore.lowering.tile_ops.discovery import implementations_in

    return (*backend_implementations, *implementations_in(tile_ops), *gemm.IMPLEMENTATIONS)
