"""Describes the effects of the calls ``hip.*`` on shared memory, for the race check (tilecore/lowering/race_check)."""

from __future__ import annotations

from tile_hip import instructions
from tilecore.ir.build import constant
from tilecore.ir.nodes import Call, PrimFunc
from tilecore.lowering.race_check.effects import (
    Access,
    AsyncAccess,
    Barrier,
    Commit,
    Effect,
    Wait,
    describe_calls,
    nothing,
)

_QUEUE = "copies to LDS"


def describe() -> None:
    """Registers the effects. Matrix instructions access registers only."""
    describe_calls(dict.fromkeys((instructions.MMA, instructions.SCHEDULING_FENCE), nothing))
    describe_calls(
        {
            instructions.SHARED_BARRIER: lambda call, func: [Barrier()],
            instructions.COPY_TO_LDS: _copy,
            instructions.WAIT_COPIES: lambda call, func: [Wait(_QUEUE, call.args[0])],
        }
    )


def _copy(call: Call, func: PrimFunc) -> list[Effect]:
    """Each copy may be waited for."""
    to, source, size = call.args[0], call.args[1], constant(call.args[2]) or 0
    return [AsyncAccess(to, size, True, _QUEUE), Access(source, size, False), Commit(_QUEUE)]
