"""Arithmetic, comparisons and operations on bits, with the language's meaning in C's operators.

Integers wrap: C's signed sums may not, so where a 32- or 64-bit sum could overflow it is computed without sign. Sums of
8 and 16 bits are computed by C in ``int`` and brought back; products of uint16, which are too large for it, without
sign. A 4-bit integer stands in a byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.codegen.refusal import refuse
from tilecore.codegen.text import (
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    EQUALITY,
    ORDER,
    PRODUCT,
    SHIFT,
    SUM,
    Text,
)
from tilecore.dtypes import FACTS
from tilecore.dtypes import NARROW_FLOATS as NARROW
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import FloatImm, IntImm

if TYPE_CHECKING:
    from tilecore.codegen.expressions import Expressions

_SYMBOLS = {
    "Add": ("+", SUM),
    "Sub": ("-", SUM),
    "Mul": ("*", PRODUCT),
    "Div": ("/", PRODUCT),
    "Mod": ("%", PRODUCT),
    "BitwiseAnd": ("&", BIT_AND),
    "BitwiseOr": ("|", BIT_OR),
    "BitwiseXor": ("^", BIT_XOR),
    "LShift": ("<<", SHIFT),
    "RShift": (">>", SHIFT),
    "EQ": ("==", EQUALITY),
    "NE": ("!=", EQUALITY),
    "LT": ("<", ORDER),
    "LE": ("<=", ORDER),
    "GT": (">", ORDER),
    "GE": (">=", ORDER),
}
_WRAPPING = ("Add", "Sub", "Mul", "LShift")
_UNSIGNED = {"int32": "uint32", "int64": "uint64"}


def _kind_of(emit: Expressions, node: Any) -> str:
    """Element type of an operand; refuses vectors."""
    dtype = dtype_of(node)
    if dtype not in FACTS:
        refuse(node, emit.dialect.kind, "vectors are only moved from buffer to buffer", f"arithmetic of {dtype}")
    return dtype


def _plain(emit: Expressions, node: Any) -> Text:
    symbol, level = _SYMBOLS[type(node).__name__]
    kind = dtype_of(node.a)
    if kind in NARROW and not emit.dialect.forms.narrow_operators:
        text = emit.typed_binary(symbol, level, single(emit, node.a, kind), single(emit, node.b, kind), "float32")
        return back(emit, text, dtype_of(node))
    if symbol == "+" and isinstance(node.b, (IntImm, FloatImm)) and node.b.value < 0:
        value = node.b.value  # a - 1, not a + -1
        dtype = dtype_of(node.b)
        lowest = FACTS[dtype].kind != "float" and value == -(1 << (FACTS[dtype].bits - 1))
        if dtype not in NARROW and not lowest:
            positive = type(node.b)(dtype, -value)
            return emit.typed_binary("-", level, emit.value(node.a), emit.value(positive), kind)
    return emit.typed_binary(symbol, level, emit.value(node.a), emit.value(node.b), kind)


def arithmetic(emit: Expressions, node: Any) -> Text:
    """Sums, differences, products and shifts to the left."""
    dtype = _kind_of(emit, node)
    if dtype == "bool":
        return refuse(node, emit.dialect.kind, what=f"{type(node).__name__} of bool")
    if FACTS[dtype].kind == "float" or dtype in ("uint32", "uint64"):
        return _plain(emit, node)
    if dtype in _UNSIGNED:
        if emit.is_index or (type(node).__name__ != "LShift" and _cannot_overflow(emit, node)):
            return _plain(emit, node)
        return emit.cast(dtype, _without_sign(emit, node, dtype))
    if dtype == "uint16" and type(node).__name__ == "Mul":
        left, right = (emit.cast("uint32", emit.value(side)) for side in (node.a, node.b))
        product = emit.typed_binary(*_SYMBOLS["Mul"], left, right, "uint32")
        return wrapped(emit, product, dtype, "uint32")
    return wrapped(emit, _plain(emit, node), dtype)


def _cannot_overflow(emit: Expressions, node: Any) -> bool:
    return emit.bounds.is_place(node) or emit.bounds.fits(node)


def _without_sign(emit: Expressions, node: Any, dtype: str) -> Text:
    """``node``, signed, computed in the unsigned type of its size."""
    if isinstance(node, IntImm):
        return emit.integer(int(node.value), _UNSIGNED[dtype])
    name = type(node).__name__
    if name not in _WRAPPING or (name != "LShift" and _cannot_overflow(emit, node)):
        return emit.cast(_UNSIGNED[dtype], emit.value(node))
    symbol, level = _SYMBOLS[name]
    right = emit.value(node.b) if name == "LShift" else _without_sign(emit, node.b, dtype)
    return emit.typed_binary(symbol, level, _without_sign(emit, node.a, dtype), right, _UNSIGNED[dtype])


def wrapped(emit: Expressions, value: Text, dtype: str, source: str = "int32") -> Text:
    """An integer of type ``source`` brought into the range of one of at most 16 bits, modulo its size."""
    if dtype == "uint4":
        return emit.typed_binary("&", BIT_AND, value, Text("15"), source)
    if dtype == "int4":
        high = emit.typed_binary("<<", SHIFT, emit.cast("uint32", value), Text("28"), "uint32")
        return emit.typed_binary(">>", SHIFT, emit.cast("int32", high), Text("28"), "int32")
    return emit.cast(dtype, value)


def division(emit: Expressions, node: Any) -> Text:
    """Division towards zero and its remainder."""
    dtype, name = _kind_of(emit, node), type(node).__name__
    if dtype == "bool":
        return refuse(node, emit.dialect.kind, what=f"{name} of bool")
    if FACTS[dtype].kind == "float":
        return _plain(emit, node) if name == "Div" else _in_float(emit, "fmod", node.a, node.b)
    a, b = emit.value(node.a), emit.value(node.b)
    overflows = FACTS[dtype].kind == "int" and FACTS[dtype].bits >= 32 and not emit.bounds.never_negative(node.b)
    if overflows and constant(node.b) in (None, 0, -1):
        return emit.function("tc_div" if name == "Div" else "tc_mod", a, b)
    text = emit.typed_binary(*_SYMBOLS[name], a, _divisor(emit, node.b, b), dtype)
    return wrapped(emit, text, dtype) if FACTS[dtype].bits < 32 and FACTS[dtype].kind == "int" else text


def _divisor(emit: Expressions, node: Any, text: Text) -> Text:
    """A divisor as it stands where it cannot be 0; else 1 is taken for 0, by which no processor may divide."""
    constant_divisor = constant(node)
    if constant_divisor not in (None, 0) or (constant_divisor is None and emit.bounds.is_positive(node)):
        return text
    return emit.function("tc_divisor", text)


def floor_division(emit: Expressions, node: Any) -> Text:
    """Division rounded down and its remainder: C's where both are not negative, shifts for powers of two."""
    dtype, is_div = _kind_of(emit, node), type(node).__name__ == "FloorDiv"
    if dtype == "bool":
        return refuse(node, emit.dialect.kind, what=f"{type(node).__name__} of bool")
    if FACTS[dtype].kind == "float":
        return _float_floor(emit, node, dtype, is_div)
    divisor = constant(node.b)
    symbol = "/" if is_div else "%"
    a, b = emit.value(node.a), emit.value(node.b)
    if emit.bounds.never_negative(node.a) and emit.bounds.never_negative(node.b):
        return emit.typed_binary(symbol, PRODUCT, a, _divisor(emit, node.b, b), dtype)
    if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        if is_div:
            return emit.typed_binary(">>", SHIFT, a, Text(str(divisor.bit_length() - 1)), dtype)
        return emit.typed_binary("&", BIT_AND, a, emit.integer(divisor - 1, dtype), dtype)
    return emit.function("tc_floor_div" if is_div else "tc_floor_mod", a, b)


def _float_floor(emit: Expressions, node: Any, dtype: str, is_div: bool) -> Text:
    """Narrow floats are computed in float32 and rounded at the end."""
    a, b = (single(emit, side, dtype) for side in (node.a, node.b))
    if not is_div:
        return back(emit, emit.function("tc_floor_mod", a, b), dtype)
    floor = emit.dialect.math["floor"][dtype == "float64"]
    return back(
        emit,
        emit.function(floor, emit.typed_binary("/", PRODUCT, a, b, "float32" if dtype in NARROW else dtype)),
        dtype,
    )


def _in_float(emit: Expressions, name: str, *operands: Any) -> Text:
    dtype = dtype_of(operands[0])
    function = emit.dialect.math[name][dtype == "float64"]
    return back(emit, emit.function(function, *(single(emit, o, dtype) for o in operands)), dtype)


def single(emit: Expressions, node: Any, dtype: str) -> Text:
    """The value of a float, float32 if its type is narrower."""
    value = emit.value(node)
    return widened(emit, value) if dtype in NARROW else value


def widened(emit: Expressions, value: Text) -> Text:
    """A narrow float as a float32."""
    return emit.widened(value)


def back(emit: Expressions, value: Text, dtype: str) -> Text:
    """A float32 rounded to ``dtype``."""
    return emit.narrowed(dtype, value) if dtype in NARROW else value


def extreme(emit: Expressions, node: Any) -> Text:
    """Of floats the one that is a number."""
    dtype, name = _kind_of(emit, node), "tc_min" if type(node).__name__ == "Min" else "tc_max"
    if dtype in NARROW and not emit.dialect.forms.narrow_operators:
        return back(emit, emit.function(name, single(emit, node.a, dtype), single(emit, node.b, dtype)), dtype)
    return emit.function(name, emit.value(node.a), emit.value(node.b))


def compare(emit: Expressions, node: Any) -> Text:
    _kind_of(emit, node.a)
    return _plain(emit, node)


def bits(emit: Expressions, node: Any) -> Text:
    dtype = _kind_of(emit, node)
    if FACTS[dtype].kind == "float":
        return refuse(node, emit.dialect.kind, what=f"{type(node).__name__} of {dtype}")
    return _plain(emit, node)


def bitwise_not(emit: Expressions, node: Any) -> Text:
    dtype, value = _kind_of(emit, node), emit.value(node.a)
    if dtype == "bool":
        return emit.unary("!", value)
    text = emit.unary("~", value)
    return wrapped(emit, text, dtype) if FACTS[dtype].bits < 32 else text
