"""The last command of an expression writes where the result belongs, instead of a temporary that is copied there."""

from __future__ import annotations

from typing import Any

from tile_tpu.ir.instructions import TENSOR, as_command, rebuilt
from tile_tpu.lowering.emitter import Emitter
from tile_tpu.lowering.frames import Tile
from tilecore.ir.build import constant

# commands that move elements between lanes: a result in the memory that they read would be half old, half new
_MOVES = ("to_all_lanes", "transpose", "iota_w", "iota_c", "load_table")


def into_place(emit: Emitter, value: Any, place: Tile) -> bool:
    """Whether the value's command, the newest one, writes to ``place`` now."""
    last = emit.last()
    found = as_command(last) if last is not None else None
    if not isinstance(value, Tile) or found is None or value.axes != place.axes:
        return False
    instruction = found.instruction
    if instruction.name in _MOVES or "dst" not in found.operands:
        return False
    if instruction.engine != TENSOR and (instruction.name != "gather_rows" or constant(place.view.lane) != 0):
        return False
    if not found.operands["dst"].buffer.same_as(value.view.buffer) or value.dtype != place.dtype:
        return False
    if instruction.aligned and not emit.is_aligned(place.view):
        return False
    emit.replace_last(rebuilt(found, {**found.operands, "dst": place.view}))
    return True
