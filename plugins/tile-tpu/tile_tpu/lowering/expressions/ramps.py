"""Numbers of iterations as tiles."""

from __future__ import annotations

from typing import Any

from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import NotTensor, Tile, over
from tilecore.ir.build import const
from tilecore.ir.nodes import Var


def ramp(emit: Emitter, var: Var, step: int, start: Any) -> Tile:
    """``start + step * var`` of a loop variable, int32. Raises NotTensor."""
    frame = emit.frame
    if frame.spread is not None:
        along = emit.new(frozenset("w"), "int32", "ramp")
        emit.emit("iota_w", along.view, start, const(step, "int32"))
        parts = _over_lanes(emit, const(0, "int32"), step * frame.chunk)
        made = emit.new(frozenset("cw"), "int32")
        emit.emit("add", made.view, over(along, frame, made.axes), over(parts, frame, made.axes))
        return made
    axis = frame.axes[var]
    if axis == "c":
        return _over_lanes(emit, start, step)
    if axis != "w":
        raise NotTensor(f"the number of an iteration of {var.name}, an outer loop, as a value")
    made = emit.new(frozenset("w"), "int32", "ramp")
    emit.emit("iota_w", made.view, start, const(step, "int32"))
    return made


def _over_lanes(emit: Emitter, start: Any, step: int) -> Tile:
    """``start + step * c``: one command for each group of lanes."""
    lanes = emit.frame.lanes
    made = emit.new(frozenset("c"), "int32", "ramp")
    count = emit.frame.extents["c"]
    for group in range(-(-count // lanes)):
        shape = (1, min(lanes, count - group * lanes), 1, 1)
        view = View(made.view.buffer, 0, group * made.view.strides[1], shape, made.view.strides)
        first = start + group * lanes * step if group else start
        emit.emit("iota_c", view, first, const(step, "int32"))
    return made
