"""Puts a computed vector or matrix where a tile buffer has it."""

from __future__ import annotations

from dataclasses import replace

from tile_tpu.ir.views import View, aligned_strides
from tile_tpu.lowering.ops.work import Work, known_shape
from tilecore.ir.build import constant


def declines(shape: tuple[int, int], target: View) -> str | None:
    """Why (rows, columns) in lanes and in a lane's memory cannot get to ``target``."""
    n, c, h, w = known_shape(target)
    rows, columns = shape
    turned = (c, w) == (columns, rows) and 1 in shape
    if n == h == 1 and ((c, w) == shape or turned):
        return None
    return f"{target.buffer.name} lies in the lanes in another way"


def turned_for(work: Work, value: View, target: View) -> View:
    """``value`` with its elements along the axes that ``target`` has them along."""
    return value if known_shape(value) == known_shape(target) else work.turned(work.aligned_operand(value))


def put(work: Work, value: View, target: View, replicated: bool = False) -> None:
    """target = value, in the target's type; value begins in lane 0. replicated: every lane has a copy of the target."""
    if replicated:
        _to_all(work, work.aligned_operand(work.converted(value, target.dtype)), target)
    elif value.dtype == target.dtype:
        work.transfer(target, value)
    elif constant(target.lane) == 0:
        work.emit("cast", target, value, "even")
    else:
        work.transfer(target, work.converted(value, target.dtype))


def _to_all(work: Work, row: View, target: View) -> None:
    lanes, shape = work.chip.lanes, known_shape(target)
    every = replace(target, shape=(1, lanes, 1, shape[3]))
    every = replace(every, strides=aligned_strides(known_shape(every), lanes, work.eu(target.dtype)))
    if work.is_aligned(every):
        work.emit("to_all_lanes", every, row)
        return
    made = work.room(known_shape(every), target.dtype, "copies")
    work.emit("to_all_lanes", made, row)
    work.emit("copy", every, made)
