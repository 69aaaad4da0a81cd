"""How the ``cpu`` target lowers: the loops family, with its portable implementations of tile operations."""

from __future__ import annotations

from typing import Any

from tilecore.plugins.backend import Lowering
from tilecore.target import Target


def stand_in(target: Target) -> dict[str, Any]:
    """The TVM target for stock passes."""
    return {"kind": "llvm"}


LOWERING = Lowering(family="loops", stand_in=stand_in)
