"""The last command of an expression writes where the result belongs, instead of a temporary that is copied there."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tile_tpu.ir.instructions import TENSOR, Command, as_command, rebuilt
from tile_tpu.ir.views import View
from tile_tpu.lowering.emitter import Emitter
from tile_tpu.lowering.frames import Tile
from tilecore.ir.build import constant
from tilecore.ir.nodes import Var, structural_equal

# commands that move elements between lanes: a result in the memory that they read would be half old, half new
_MOVES = ("to_all_lanes", "transpose", "iota_w", "iota_c", "load_table")


def forward_result(emit: Emitter, value: Any, place: Tile, held: Collection[Var] = ()) -> bool:
    """Whether the value's command, the newest one, writes to ``place`` now. held: temporaries that are read later."""
    last = emit.last()
    found = as_command(last) if last is not None else None
    if not isinstance(value, Tile) or found is None or value.axes != place.axes or value.view.buffer in held:
        return False
    instruction = found.instruction
    if instruction.name in _MOVES or "dst" not in found.operands:
        return False
    if instruction.engine != TENSOR and (instruction.name != "gather_rows" or constant(place.view.lane) != 0):
        return False
    if not _is_same(found.operands["dst"], value.view) or value.dtype != place.dtype:
        return False
    if _reads_beside(found, place.view):
        return False
    if instruction.aligned and not emit.is_aligned(place.view):
        return False
    emit.replace_last(rebuilt(found, {**found.operands, "dst": place.view}))
    return True


def _reads_beside(found: Command, place: View) -> bool:
    """Does it read other elements of the memory in which the result belongs? They could be half old, half new."""
    return any(view.buffer.same_as(place.buffer) and not _is_same(view, place) for view in found.read())


def _is_same(a: View, b: View) -> bool:
    """The same elements at the same places. A stride of what is there once does not matter."""
    if not a.buffer.same_as(b.buffer):
        return False
    numbers = [(a.lane, b.lane), (a.offset, b.offset), *zip(a.shape, b.shape, strict=True)]
    several = [constant(size) != 1 for size in a.shape]
    numbers += [pair for pair, counts in zip(zip(a.strides, b.strides, strict=True), several, strict=True) if counts]
    return all(_is_equal(one, other) for one, other in numbers)


def _is_equal(a: Any, b: Any) -> bool:
    one, other = constant(a), constant(b)
    if one is not None or other is not None:
        return one == other
    return bool(structural_equal(a, b, map_free_vars=False))
