"""Describes the effects of the calls ``hip.*`` on shared memory, for the race check (tilecore/lowering/race_check)."""

from __future__ import annotations

from tile_hip import instructions
from tilecore.lowering.race_check.effects import Barrier, describe_calls, nothing


def describe() -> None:
    """Registers the effects. Matrix instructions access registers only."""
    describe_calls({instructions.SHARED_BARRIER: lambda call, func: [Barrier()]})
    describe_calls(dict.fromkeys((instructions.MMA, instructions.SCHEDULING_FENCE), nothing))
