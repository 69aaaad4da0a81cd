"""Stores a computed vector or matrix in a tile buffer, in the buffer's lane layout."""

from __future__ import annotations

from dataclasses import replace

from tile_tpu.ir.views import View, aligned_strides
from tile_tpu.lowering.tile_ops.emitter import Work, constant_shape_of
from tilecore.ir.build import constant


def declines(shape: tuple[int, int], target: View) -> str | None:
    """The reason why a result of this shape cannot be stored in ``target``; None where it can.

    shape: rows in lanes, columns in a lane's memory. The reason is an incompatible lane layout.
    """
    n, c, h, w = constant_shape_of(target)
    rows, columns = shape
    is_transposed = (c, w) == (columns, rows) and 1 in shape
    if n == h == 1 and ((c, w) == shape or is_transposed):
        return None
    return f"{target.buffer.name} has an incompatible lane layout"


def oriented_like(work: Work, value: View, target: View) -> View:
    """``value``, transposed where ``target`` has its elements along the other axis."""
    return (
        value if constant_shape_of(value) == constant_shape_of(target) else work.transposed(work.aligned_operand(value))
    )


def put(work: Work, value: View, target: View, replicated: bool = False) -> None:
    """Stores ``value``, which begins in lane 0, in ``target``, converted to its type. replicated: every lane has a copy
    of the target."""
    if replicated:
        _to_all(work, work.aligned_operand(work.converted(value, target.dtype)), target)
    elif value.dtype == target.dtype:
        work.transfer(target, value)
    elif constant(target.lane) == 0:
        work.emit("cast", target, value, "even")
    else:
        work.transfer(target, work.converted(value, target.dtype))


def _to_all(work: Work, row: View, target: View) -> None:
    lanes, shape = work.chip.lanes, constant_shape_of(target)
    all_lanes = replace(target, shape=(1, lanes, 1, shape[3]))
    all_lanes = replace(all_lanes, strides=aligned_strides(constant_shape_of(all_lanes), lanes, work.eu(target.dtype)))
    if work.is_aligned(all_lanes):
        work.emit("to_all_lanes", all_lanes, row)
        return
    copies = work.room(constant_shape_of(all_lanes), target.dtype, "copies")
    work.emit("to_all_lanes", copies, row)
    work.emit("copy", all_lanes, copies)
