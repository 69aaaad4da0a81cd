"""How the ``cpu`` target lowers: the loops family, with the processor's dot products for narrow types."""

from __future__ import annotations

from typing import Any

from tilecore.backends.cpu.dot_products import IMPLEMENTATIONS
from tilecore.contract.records import Lowering
from tilecore.target import Target


def stand_in(target: Target) -> dict[str, Any]:
    """The TVM target for stock passes."""
    return {"kind": "llvm"}


LOWERING = Lowering(family="loops", stand_in=stand_in, implementations=IMPLEMENTATIONS)
