"""Emits statements of the control core: tilecore's emitter with the chip and the addresses of tensors."""

from __future__ import annotations

from collections.abc import Mapping

from tile_tpu.chips import Chip
from tilecore.codegen.calls import CallValues
from tilecore.codegen.dialect import Dialect
from tilecore.codegen.memory_uses import MemoryUses
from tilecore.codegen.names import Names
from tilecore.codegen.statements import Statements
from tilecore.ir.nodes import Var


class ControlCode(CallValues, Statements):
    """addresses: for each tensor that commands access, the name of the variable with its address. offsets: the
    addresses of local buffers in a lane, by name."""

    def __init__(
        self, dialect: Dialect, names: Names, offsets: Mapping[str, int], uses: MemoryUses, chip: Chip
    ) -> None:
        super().__init__(dialect, names, offsets, uses)
        self.chip = chip
        self.addresses: dict[Var, str] = {}
