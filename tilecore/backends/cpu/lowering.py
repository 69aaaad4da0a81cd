"""How the ``cpu`` target lowers: the loops family, with the processor's dot products for narrow types."""

from __future__ import annotations

from tilecore.backends.cpu.dot_products import IMPLEMENTATIONS
from tilecore.contract.records import Lowering

LOWERING = Lowering(family="loops", implementations=IMPLEMENTATIONS)
