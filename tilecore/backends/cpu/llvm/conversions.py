"""Conversions between element types, and to the form that a value has in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.backends.cpu.llvm import intrinsics
from tilecore.backends.cpu.llvm.arithmetic import wrapped
from tilecore.backends.cpu.llvm.function import Function
from tilecore.backends.cpu.llvm.narrow import narrow, settled, single_to_odd
from tilecore.backends.cpu.llvm.types import (
    Value,
    computed,
    is_float,
    is_narrow,
    is_signed,
    literal,
    split,
    stored,
    vector,
)
from tilecore.dtypes import FACTS
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import Call

if TYPE_CHECKING:
    from tilecore.backends.cpu.llvm.expressions import Expressions


def cast(emit: Expressions, node: Any) -> Value:
    return convert(emit.fn, emit.value(node.value), split(dtype_of(node))[0])


def reinterpret(emit: Expressions, node: Call) -> Value:
    target, lanes = split(dtype_of(node))
    value = emit.lazy(node.args[0])
    raw = stored_form(emit.fn, value)
    text = raw
    if value.stored_type != vector(stored(target), lanes):
        text = emit.fn.op(f"bitcast {value.stored_type} {raw} to {vector(stored(target), lanes)}")
    return Value("", target, lanes, text) if is_narrow(target) else Value(text, target, lanes)


def convert(fn: Function, value: Value, target: str) -> Value:
    """A value in another element type; floats to integers truncate and saturate, NaN becomes 0."""
    source = value.dtype
    if source == target:
        return value
    value = settled(fn, value)
    lanes = value.lanes
    if is_float(source) and is_float(target):
        text = _resize_float(fn, value, target)
        if not is_narrow(target):
            return Value(text, target, lanes)
        converted = Value(text, target, lanes)
        raw = narrow(fn, converted)
        return Value("", target, lanes, raw)
    if target == "bool":
        word = "fcmp une" if is_float(source) else "icmp ne"
        return Value(fn.op(f"{word} {value.type} {value.text}, {literal(0, source, lanes).text}"), "bool", lanes)
    to = vector(computed(target), lanes)
    if is_float(target):
        word = "sitofp" if is_signed(source) else "uitofp"
        if target == "bfloat16" and FACTS[source].bits >= 32:  # a float32 would round before; the others end below that
            wide = Value(fn.op(f"{word} {value.type} {value.text} to {vector('double', lanes)}"), "float64", lanes)
            return Value("", target, lanes, narrow(fn, Value(single_to_odd(fn, wide), target, lanes)))
        converted = Value(fn.op(f"{word} {value.type} {value.text} to {to}"), target, lanes)
        return converted if not is_narrow(target) else Value("", target, lanes, narrow(fn, converted))
    if is_float(source):
        word = "fptosi" if is_signed(target) else "fptoui"
        return _limited(fn, intrinsics.saturating(fn, word, value, target))
    return wrapped(fn, Value(_resize_int(fn, value, target), target, lanes))


def _limited(fn: Function, value: Value) -> Value:
    """A 4-bit integer in a byte, out of its range set to the nearest limit."""
    if FACTS[value.dtype].bits >= 8:
        return value
    low, high, sign = (-8, 7, "s") if is_signed(value.dtype) else (0, 15, "u")
    above = intrinsics.intrinsic(fn, f"{sign}max", [value, literal(low, value.dtype, value.lanes)])
    return intrinsics.intrinsic(fn, f"{sign}min", [above, literal(high, value.dtype, value.lanes)])


def _resize_float(fn: Function, value: Value, target: str) -> str:
    source_type, target_type = computed(value.dtype), computed(target)
    if source_type == target_type:
        return value.text
    if is_narrow(target):
        return single_to_odd(fn, value)
    word = "fpext" if target_type == "double" else "fptrunc"
    return fn.op(f"{word} {value.type} {value.text} to {vector(target_type, value.lanes)}")


def _resize_int(fn: Function, value: Value, target: str) -> str:
    source_type, target_type = computed(value.dtype), computed(target)
    if source_type == target_type:
        return value.text
    wider = "sext" if is_signed(value.dtype) else "zext"
    word = "trunc" if int(target_type[1:]) < int(source_type[1:]) else wider
    if not value.text.startswith(("%", "<", "splat")):
        return literal(int(value.text) if value.text not in ("true", "false") else value.text == "true", target).text
    return fn.op(f"{word} {value.type} {value.text} to {vector(target_type, value.lanes)}")


def stored_form(fn: Function, value: Value) -> str:
    """The value as it stands in memory: narrow floats and bool are computed in another form."""
    if is_narrow(value.dtype):
        return narrow(fn, value)
    if value.dtype != "bool":
        return value.text
    return fn.op(f"zext {value.type} {value.text} to {vector('i8', value.lanes)}")
