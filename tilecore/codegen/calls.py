"""Emits calls that have a value: functions of the language, and operations across threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore.codegen import choices, conversions
from tilecore.codegen.arithmetic import NARROW, back, single, wrapped
from tilecore.codegen.conversions import convert
from tilecore.codegen.refusal import refuse
from tilecore.codegen.text import EQUALITY, SUM, Text, binary, call, cast, minus
from tilecore.dtypes import FACTS
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.contraction import negated
from tilecore.ir.intrinsics import ADDRESS, COMPARED, ROUNDED
from tilecore.ir.nodes import Call

if TYPE_CHECKING:
    from tilecore.codegen.expressions import Expressions

_UNSIGNED = {"int8": "uint8", "int16": "uint16", "int32": "uint32", "int64": "uint64"}


def call_value(emit: Expressions, node: Call) -> Text:
    """The value of a call; raises UnsupportedError for one that is not known."""
    name = op_name(node)
    handler = _CALLS.get(name)
    if handler is not None:
        return handler(emit, node)
    functions = emit.dialect.math.get("fabs" if name == "abs" else name)
    dtype = dtype_of(node)
    if functions is None or dtype not in FACTS or FACTS[dtype].kind != "float":
        return refuse(node, emit.dialect.kind)
    text = call(functions[dtype == "float64"], *(single(emit, arg, dtype) for arg in node.args))
    return back(emit, text, dtype)


def _abs(emit: Expressions, node: Call) -> Text:
    dtype = dtype_of(node)
    if FACTS[dtype].kind == "float":
        return back(emit, call(emit.dialect.math["fabs"][dtype == "float64"], single(emit, node.args[0], dtype)), dtype)
    value = emit.value(node.args[0])
    if FACTS[dtype].kind != "int":
        return value
    text = call("tc_abs", value)
    return text if FACTS[dtype].bits >= 32 else wrapped(emit, text, dtype)


def _likely(emit: Expressions, node: Call) -> Text:
    return emit.value(node.args[0])


_ROUNDED = {"Add": "tc_rounded_add", "Sub": "tc_rounded_sub", "Mul": "tc_rounded_mul"}


def _rounded(emit: Expressions, node: Call) -> Text:
    """An operation that is not merged with those around it."""
    inner = node.args[0]
    if dtype_of(node) in NARROW or FACTS[dtype_of(node)].kind != "float":
        return emit.value(inner)
    function = _ROUNDED.get(type(inner).__name__)
    if function is not None:
        return call(function, emit.value(inner.a), emit.value(inner.b))
    return call("tc_rounded", emit.value(inner))


def _test(emit: Expressions, node: Call) -> Text:
    """isnan, isinf, isfinite."""
    dtype, name = dtype_of(node.args[0]), op_name(node)
    if FACTS[dtype].kind != "float":
        return Text("true" if name == "isfinite" else "false")
    if node.attrs is not None and COMPARED in node.attrs:
        return _compared(emit, node.args[0], dtype)
    return call(f"tc_{name}", single(emit, node.args[0], dtype))


def _compared(emit: Expressions, value: Any, dtype: str) -> Text:
    """``x != x``: a number equals itself."""
    wide = not emit.dialect.forms.narrow_operators
    text = single(emit, value, dtype) if wide else emit.value(value)
    return binary("!=", EQUALITY, text, text)


def _fma(emit: Expressions, node: Call) -> Text:
    dtype = dtype_of(node)
    if dtype in ("float16", "bfloat16"):
        return call("tc_fma", *(emit.value(arg) for arg in node.args))
    name = emit.dialect.math["fma"][dtype == "float64"]
    return back(emit, call(name, *(_term(emit, arg, dtype) for arg in node.args)), dtype)


def _term(emit: Expressions, node: Any, dtype: str) -> Text:
    """An operand of a fused multiply-add; a negated one with a sign in front."""
    bare = negated(node)
    if bare is None or dtype in NARROW:
        return single(emit, node, dtype)
    return minus(emit.value(bare))


def _ldexp(emit: Expressions, node: Call) -> Text:
    dtype, power_type = dtype_of(node), dtype_of(node.args[1])
    power = convert(emit, emit.value(node.args[1]), power_type, "int32")
    name = emit.dialect.math["ldexp"][dtype == "float64"]
    return back(emit, call(name, single(emit, node.args[0], dtype), power), dtype)


def _nextafter(emit: Expressions, node: Call) -> Text:
    dtype = dtype_of(node)
    name = "tc_nextafter" if dtype in NARROW else emit.dialect.math["nextafter"][dtype == "float64"]
    return call(name, *(emit.value(arg) for arg in node.args))


def _bit_count(emit: Expressions, node: Call) -> Text:
    """popcount and clz: of the type's own bits."""
    source, name = dtype_of(node.args[0]), op_name(node)
    bits = FACTS[source].bits
    if FACTS[source].kind == "float" or bits < 8:
        return refuse(node, emit.dialect.kind, what=f"{name} of {source}")
    value = emit.value(node.args[0])
    if source in _UNSIGNED:
        value = cast(emit.type_of(_UNSIGNED[source]), value)
    if bits < 32:
        value = cast(emit.type_of("uint32"), value)
    text = call("tc_clz" if name == "clz" else "tc_popcount", value)
    if name == "clz" and bits < 32:
        text = binary("-", SUM, text, Text(str(32 - bits)))
    return convert(emit, text, "int32", dtype_of(node))


def _extern(emit: Expressions, node: Call) -> Text:
    """A function of the user's own source text."""
    return call(str(node.args[0].value), *(emit.value(arg) for arg in node.args[1:]))


def _shuffle(emit: Expressions, node: Call) -> Text:
    value, lane, kind, width = node.args
    text = emit.value(value)
    if FACTS[dtype_of(value)].bits < 32:  # C has made an int of it
        text = cast(emit.type_of(dtype_of(value)), text)
    return call(f"tc_shuffle_{kind.value}", text, emit.value(lane), emit.value(width))


def _vote(emit: Expressions, node: Call) -> Text:
    return call(f"tc_vote_{node.args[1].value}", emit.value(node.args[0]))


def _block_vote(emit: Expressions, node: Call) -> Text:
    return call(f"tc_block_vote_{node.args[1].value}", emit.value(node.args[0]))


def _atomic(emit: Expressions, node: Call) -> Text:
    """One atomic operation on an element; its value before."""
    element, operand, kind, order = (node.args[0], node.args[1], str(node.args[2].value), str(node.args[3].value))
    arguments: list[Any] = [emit.address(element)]
    for compare in node.args[4:]:
        arguments.append(convert(emit, emit.value(compare), dtype_of(compare), dtype_of(element)))
    if kind != "load":
        arguments.append(convert(emit, emit.value(operand), dtype_of(operand), dtype_of(element)))
    return call(f"tc_atomic_{kind}", *arguments, *memory_order(order))


def memory_order(order: str) -> list[str]:
    """The last argument of an atomic function: the header's word, none for relaxed order."""
    return [] if order == "relaxed" else [f"tc_{'acquire' if order == 'consume' else order}"]


_CALLS: dict[str, Callable[[Expressions, Any], Text]] = {
    "if_then_else": choices.if_then_else,
    "reinterpret": conversions.reinterpret,
    "likely": _likely,
    ROUNDED: _rounded,
    "abs": _abs,
    "fabs": _abs,
    "fma": _fma,
    "ldexp": _ldexp,
    "nextafter": _nextafter,
    **dict.fromkeys(("isnan", "isinf", "isfinite"), _test),
    **dict.fromkeys(("popcount", "ctpop", "clz"), _bit_count),
    **dict.fromkeys(("call_extern", "call_pure_extern"), _extern),
    ADDRESS: lambda emit, node: emit.address(node.args[0]),
    "simt.shuffle": _shuffle,
    "simt.vote": _vote,
    "simt.block_vote": _block_vote,
    "simt.quotient": lambda emit, node: call("tc_quotient", *(emit.value(arg) for arg in node.args)),
    "tile.atomic_element": _atomic,
}
