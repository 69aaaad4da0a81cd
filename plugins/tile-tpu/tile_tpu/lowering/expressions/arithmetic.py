"""Arithmetic on tiles, and loop indices as values: an affine expression of one loop variable is one ramp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import NotTensor, Tile, Value, over
from tile_tpu.lowering.expressions.min_max import extreme
from tilecore.dtypes import FACTS
from tilecore.ir.affine import coefficient
from tilecore.ir.build import const, dtype_of
from tilecore.ir.nodes import Var
from tilecore.ir.visit import loads, substitute, variables

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Values

INSTRUCTIONS = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Min": "min", "Max": "max"}


def arithmetic(values: Values, node: Any) -> Value:
    """``a + b``, ``a - b``, ``a * b``, the quotient of floats, max and min. Raises NotTensor."""
    name, dtype = INSTRUCTIONS[type(node).__name__], dtype_of(node)
    if name in ("add", "sub", "mul") and dtype == "int32":
        ramp_of_sum = _affine(values, name, node.a, node.b)
        if ramp_of_sum is not None:
            return ramp_of_sum
    first, second = values.value(node.a), values.value(node.b)
    if name in ("max", "min") and FACTS[dtype].kind == "float":
        return extreme(values, name, first, second, dtype)
    return values.apply(name, [first, second], dtype)


def loop_index(values: Values, var: Var) -> Value:
    """The value of a bound variable, or of a loop variable. Raises NotTensor."""
    bound = values.bound.get(var)
    return bound if bound is not None else ramp(values.emit, var, 1, 0)


def _affine(values: Values, name: str, a: Any, b: Any) -> Tile | None:
    """A multiple of one loop variable plus a uniform value, as one ramp; None for other expressions."""
    whole = {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b}[name]()
    loop_variables = [var for var in values.frame.axes if var in variables(whole)]
    if len(loop_variables) != 1 or loads(whole) or any(var in values.bound for var in variables(whole)):
        return None
    (var,) = loop_variables
    step = coefficient(whole, var)
    if not isinstance(step, int):
        return None
    start = values.emit.analyzer.simplify(substitute(whole, {var: const(0, str(var.ty.dtype))}))
    return ramp(values.emit, var, step, start) if str(var.ty.dtype) == "int32" else None


def ramp(emit: Emitter, var: Var, step: int, start: Any) -> Tile:
    """``start + step * var`` of a loop variable, int32. Raises NotTensor."""
    frame = emit.frame
    if frame.partitioned is not None:
        along = emit.new(frozenset("w"), "int32", "ramp")
        emit.emit("iota_w", along.view, start, const(step, "int32"))
        parts = _over_lanes(emit, const(0, "int32"), step * frame.chunk)
        result = emit.new(frozenset("cw"), "int32")
        emit.emit("add", result.view, over(along, frame, result.axes), over(parts, frame, result.axes))
        return result
    axis = frame.axes[var]
    if axis == "c":
        return _over_lanes(emit, start, step)
    if axis != "w":
        raise NotTensor(f"the index of the outer loop {var.name} is used as a value")
    result = emit.new(frozenset("w"), "int32", "ramp")
    emit.emit("iota_w", result.view, start, const(step, "int32"))
    return result


def _over_lanes(emit: Emitter, start: Any, step: int) -> Tile:
    """``start + step * c``: one command for each group of lanes."""
    lanes = emit.frame.lanes
    result = emit.new(frozenset("c"), "int32", "ramp")
    count = emit.frame.extents["c"]
    for group in range(-(-count // lanes)):
        shape = (1, min(lanes, count - group * lanes), 1, 1)
        view = View(result.view.buffer, 0, group * result.view.strides[1], shape, result.view.strides)
        first = start + group * lanes * step if group else start
        emit.emit("iota_c", view, first, const(step, "int32"))
    return result
