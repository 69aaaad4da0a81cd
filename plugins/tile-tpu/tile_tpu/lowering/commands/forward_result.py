"""Forwards results: the last command of an expression writes to the destination, not to a temporary."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tile_tpu.ir.instructions import TENSOR, Command, as_command, rebuilt
from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import Tile
from tilecore.ir.build import constant
from tilecore.ir.nodes import Var, structural_equal

# commands that move elements between lanes, which must not write to the memory that they read
_LANE_MOVES = ("to_all_lanes", "transpose", "iota_w", "iota_c", "load_table")


def forward_result(emit: Emitter, value: Any, destination: Tile, live_buffers: Collection[Var] = ()) -> bool:
    """Makes the last command, which computes the value, write to ``destination``; False where it cannot.

    live_buffers: temporaries that are read later.
    """
    last = emit.last()
    command = as_command(last) if last is not None else None
    if (
        not isinstance(value, Tile)
        or command is None
        or value.axes != destination.axes
        or value.view.buffer in live_buffers
    ):
        return False
    instruction = command.instruction
    if instruction.name in _LANE_MOVES or "dst" not in command.operands:
        return False
    if instruction.engine != TENSOR and (instruction.name != "gather_rows" or constant(destination.view.lane) != 0):
        return False
    if not _is_same(command.operands["dst"], value.view) or value.dtype != destination.dtype:
        return False
    if _reads_other_elements(command, destination.view):
        return False
    if instruction.aligned and not emit.is_aligned(destination.view):
        return False
    emit.replace_last(rebuilt(command, {**command.operands, "dst": destination.view}))
    return True


def _reads_other_elements(command: Command, destination: View) -> bool:
    """Whether the command reads other elements of the destination's memory, which it might overwrite first."""
    return any(view.buffer.same_as(destination.buffer) and not _is_same(view, destination) for view in command.read())


def _is_same(a: View, b: View) -> bool:
    """Whether two views have the same elements. The stride of an axis with one element does not matter."""
    if not a.buffer.same_as(b.buffer):
        return False
    pairs = [(a.lane, b.lane), (a.offset, b.offset), *zip(a.shape, b.shape, strict=True)]
    has_several = [constant(size) != 1 for size in a.shape]
    pairs += [pair for pair, counts in zip(zip(a.strides, b.strides, strict=True), has_several, strict=True) if counts]
    return all(_is_equal(left, right) for left, right in pairs)


def _is_equal(a: Any, b: Any) -> bool:
    constant_a, constant_b = constant(a), constant(b)
    if constant_a is not None or constant_b is not None:
        return constant_a == constant_b
    return bool(structural_equal(a, b, map_free_vars=False))
