"""Describes what the calls ``metal.*`` do to shared memory, for the race check (tilecore/lowering/race_check)."""

from __future__ import annotations

from tile_metal import instructions
from tilecore.lowering.race_check.butterflies import WARP_REDUCTIONS
from tilecore.lowering.race_check.effects import Barrier, describe_calls, nothing


def describe() -> None:
    """Registers the effects. Products access registers only."""
    registers_only = (
        instructions.MULTIPLY_ADD,
        instructions.MATMUL2D,
        instructions.SCHEDULING_FENCE,
        instructions.REDUCE_LANES,
    )
    describe_calls(dict.fromkeys(registers_only, nothing))
    WARP_REDUCTIONS.add(instructions.REDUCE_LANES)
    describe_calls({instructions.SHARED_BARRIER: lambda call, func: [Barrier()]})
