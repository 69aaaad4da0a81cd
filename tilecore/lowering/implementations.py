"""All implementations of tile operations that a backend may choose from: its own, and its family's."""

from __future__ import annotations

from tilecore.lowering.implementation import TileOpImpl
from tilecore.plugins.backend import Backend


def implementations_of(backend: Backend) -> tuple[TileOpImpl, ...]:
    own = tuple(backend.lowering.implementations)
    if backend.lowering.family == "simt":
        from tilecore.lowering.simt.family import IMPLEMENTATIONS

        return (*own, *IMPLEMENTATIONS)
    if backend.lowering.family != "loops":
        return own
    from tilecore.lowering.loops import effects, matmul, moves, reductions

    portable = (*moves.IMPLEMENTATIONS, *matmul.IMPLEMENTATIONS, *reductions.IMPLEMENTATIONS, *effects.IMPLEMENTATIONS)
    return (*own, *portable)
