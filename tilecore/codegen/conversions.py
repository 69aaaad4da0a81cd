"""Emits conversions between element types."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilecore.codegen import literals
from tilecore.codegen.arithmetic import NARROW, back, widened, wrapped
from tilecore.codegen.refusal import refuse
from tilecore.codegen.text import BIT_AND, EQUALITY, Text
from tilecore.dtypes import FACTS
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import Call, FloatImm, IntImm

if TYPE_CHECKING:
    from tilecore.codegen.expressions import Expressions


def cast_value(emit: Expressions, node: Any) -> Text:
    """A cast. Numbers that are known are converted here."""
    target, source = dtype_of(node), dtype_of(node.value)
    if target not in FACTS or source not in FACTS:
        return refuse(node, emit.dialect.kind, what=f"a conversion from {source} to {target}")
    handler = isinstance(node.value, IntImm) or (isinstance(node.value, FloatImm) and source == "float64")
    if handler and FACTS[target].kind == "float":
        number = float(node.value.value)
        saturates = FACTS[target].bits <= 8 and math.isinf(number)
        return emit.floating(math.copysign(FACTS[target].max or 0, number) if saturates else number, target)
    return convert(emit, emit.value(node.value), source, target)


def convert(emit: Expressions, value: Text, source: str, target: str) -> Text:
    """``value`` in another type. Floats to integers truncate and saturate, NaN becomes 0; all else rounds to nearest
    even or wraps."""
    kind, to = FACTS[source].kind, FACTS[target]
    if source == target or {source, target} == {"float32", "tfloat32"}:
        return value
    if target == "bool":
        if source in NARROW:
            return emit.typed_binary("!=", EQUALITY, widened(emit, value), emit.floating(0.0, "float32"), "float32")
        zero = emit.floating(0.0, source) if kind == "float" else Text("0")
        return emit.typed_binary("!=", EQUALITY, value, zero, source)
    if source in NARROW:
        return convert(emit, widened(emit, value), "float32", target)
    if target in NARROW:
        return back(emit, value, target)
    if to.kind == "float":
        return emit.cast(target, value)
    if kind == "float":
        return _truncated(emit, value, target)
    if to.bits < 8:
        text = wrapped(emit, value, target, source)
        wider = target == "uint4" and source in ("uint32", "int64", "uint64")  # the mask is of the value's type
        return emit.cast("int32", text) if wider else text
    return emit.cast(target, value)


def _four_bits(emit: Expressions, value: Text, source: str, target: str) -> Text:
    """A float of 4 bits from an integer or the other way; what has 4 bits stands in a byte."""
    if _is_float4(target):
        bits = emit.typed_binary("&", BIT_AND, value, Text("15"), source)
        return emit.from_bits(target, bits.text)
    bits = emit.bits_as("uint8", value)
    return wrapped(emit, bits, target) if target == "int4" else bits


def _is_float4(dtype: str) -> bool:
    return FACTS[dtype].is_narrow and FACTS[dtype].bits == 4


def _truncated(emit: Expressions, value: Text, target: str) -> Text:
    if FACTS[target].bits >= 8:
        return emit.truncate(target, value)
    low, high = ("-8", "7") if FACTS[target].kind == "int" else ("0", "15")
    return emit.function("tc_min", emit.function("tc_max", emit.truncate("int32", value), low), high)


def reinterpret(emit: Expressions, node: Call) -> Text:
    """The bits of a value as another type of the same size."""
    target, source = dtype_of(node), dtype_of(node.args[0])
    if target in FACTS and FACTS[target].unsigned_zero and isinstance(node.args[0], IntImm):
        return literals.from_bits(int(node.args[0].value), target, emit.dialect)
    value = emit.value(node.args[0])
    if source == target:
        return value
    if source not in FACTS or target not in FACTS:
        return refuse(node, emit.dialect.kind, what=f"the bits of {source} as {target}")
    if (_is_float4(source) or _is_float4(target)) and {FACTS[source].bits, FACTS[target].bits} <= {4, 8}:
        return _four_bits(emit, value, source, target)
    if FACTS[source].bits != FACTS[target].bits:
        return refuse(node, emit.dialect.kind, what=f"the bits of {source} as {target}")
    if FACTS[source].kind != "float" and FACTS[target].kind in ("int", "uint"):
        return convert(emit, value, source, target)
    if FACTS[source].bits < 32 and FACTS[source].kind != "float":
        value = emit.cast(source, value)
    return emit.bits_as(target, value)
