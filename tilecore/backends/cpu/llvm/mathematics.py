"""Mathematical functions: LLVM's intrinsics, our polynomials for float32, the C library's for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.backends.cpu.llvm import c_library, polynomials
from tilecore.backends.cpu.llvm.arithmetic import fenced
from tilecore.backends.cpu.llvm.conversions import convert
from tilecore.backends.cpu.llvm.directed import directed, narrow_fma
from tilecore.backends.cpu.llvm.function import Function
from tilecore.backends.cpu.llvm.intrinsics import NAMES, call, intrinsic, overload
from tilecore.backends.cpu.llvm.narrow import neighbour, settled
from tilecore.backends.cpu.llvm.refusal import refuse
from tilecore.backends.cpu.llvm.types import Value, computed, is_float, is_narrow, is_signed, literal, split, vector
from tilecore.dtypes import FACTS
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.intrinsics import DIRECTED, ROUNDED
from tilecore.ir.nodes import Call

if TYPE_CHECKING:
    from tilecore.backends.cpu.llvm.expressions import Expressions

_LIBRARY = (
    "exp exp2 exp10 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf pow atan2 "
    "fmod hypot"
).split()


def function(emit: Expressions, name: str, node: Any) -> Value | None:
    """``tirx.<name>(...)``, or None when there is no such function here."""
    handler = _SPECIAL.get(name)
    if handler is not None:
        return handler(emit, node)
    if name not in NAMES and name not in _LIBRARY and name not in polynomials.FUNCTIONS:
        return None
    args = [emit.value(arg) for arg in node.args]
    kind, _ = split(str(node.ty.dtype))
    if not is_float(kind):
        return intrinsic(emit.fn, "abs", args, "i1 false") if name == "abs" else None
    if name in NAMES:
        result = call(emit.fn, name, args)
    elif name in polynomials.FUNCTIONS and computed(kind) == "float":
        result = polynomials.emit(emit.fn, name, args[0])
    else:
        result = _library(emit.fn, name, args)
    return Value(result.text, kind, result.lanes)


def _library(fn: Function, name: str, args: list[Value]) -> Value:
    """The C library's function, lane by lane."""
    kind = computed(args[0].dtype)
    lanes = args[0].lanes
    if lanes == 1:
        return Value(c_library.mathematical(fn, name, kind, [a.text for a in args]), args[0].dtype)
    total = "poison"
    for lane in range(lanes):
        parts = [fn.op(f"extractelement {a.type} {a.text}, i64 {lane}") for a in args]
        unit = c_library.mathematical(fn, name, kind, parts)
        total = fn.op(f"insertelement {args[0].type} {total}, {kind} {unit}, i64 {lane}")
    return Value(total, args[0].dtype, lanes)


# -- functions with their own form ---------------------------------------------------------------------------


def _rsqrt(emit: Expressions, node: Any) -> Value:
    value = emit.value(node.args[0])
    root = call(emit.fn, "sqrt", [value])
    unit = literal(1.0, value.dtype, value.lanes)
    return Value(emit.fn.op(f"fdiv {value.type} {unit.text}, {root.text}"), value.dtype, value.lanes)


def _isnan(emit: Expressions, node: Any) -> Value:
    value = settled(emit.fn, emit.value(node.args[0]))
    if not is_float(value.dtype):
        return literal(False, "bool", value.lanes)
    return Value(emit.fn.op(f"fcmp uno {value.type} {value.text}, {value.text}"), "bool", value.lanes)


def _whole_bytes(emit: Expressions, node: Any) -> Value:
    """The argument of a count of bits; those of a 4-bit integer in its byte are not its own."""
    value = emit.value(node.args[0])
    return value if FACTS[value.dtype].bits >= 8 else refuse(node)


def _popcount(emit: Expressions, node: Any) -> Value:
    value = intrinsic(emit.fn, "ctpop", [_whole_bytes(emit, node)])
    return convert(emit.fn, value, split(str(node.ty.dtype))[0])


def _clz(emit: Expressions, node: Any) -> Value:
    value = intrinsic(emit.fn, "ctlz", [_whole_bytes(emit, node)], "i1 false")
    return convert(emit.fn, value, split(str(node.ty.dtype))[0])


def _ldexp(emit: Expressions, node: Any) -> Value:
    value, power = (emit.value(arg) for arg in node.args)
    powers = convert(emit.fn, power, "int32") if is_float(power.dtype) else power
    name = f"llvm.ldexp.{overload(value)}.{overload(powers)}"
    emit.fn.module.declare(name, f"{value.type} {{}}({value.type}, {powers.type})")
    operands = f"{value.type} {value.text}, {powers.type} {powers.text}"
    return Value(emit.fn.op(f"call {value.type} @{name}({operands})"), value.dtype, value.lanes)


def _sigmoid(emit: Expressions, node: Any) -> Value:
    """1 / (1 + exp(-x)), of float64 from exp(-|x|), which never overflows."""
    fn, value = emit.fn, emit.value(node.args[0])
    if computed(value.dtype) == "double":
        zero, unit = (literal(number, value.dtype, value.lanes).text for number in (0.0, 1.0))
        size = call(fn, "fabs", [value])
        power = _library(fn, "exp", [Value(fn.op(f"fneg {value.type} {size.text}"), value.dtype, value.lanes)])
        negative = fn.op(f"fcmp olt {value.type} {value.text}, {zero}")
        above = fn.op(f"select {vector('i1', value.lanes)} {negative}, {value.type} {power.text}, {value.type} {unit}")
        below = fn.op(f"fadd {value.type} {power.text}, {unit}")
        return Value(fn.op(f"fdiv {value.type} {above}, {below}"), value.dtype, value.lanes)
    return polynomials.emit(fn, "sigmoid", value)


def _nextafter(emit: Expressions, node: Any) -> Value:
    x, y = (emit.value(arg) for arg in node.args)
    return neighbour(emit.fn, x, y) if is_narrow(x.dtype) else _library(emit.fn, "nextafter", [x, y])


def _rounded(emit: Expressions, node: Any) -> Value:
    """A fence that keeps arithmetic from being merged across it; of a 16-bit fused multiply-add its exact rounding."""
    inner = node.args[0]
    if is_narrow(split(dtype_of(node))[0]):
        is_fused = isinstance(inner, Call) and op_name(inner) == "fma"
        value = narrow_fma(emit.fn, *(emit.value(arg) for arg in inner.args)) if is_fused else emit.value(inner)
        return settled(emit.fn, value)
    return fenced(emit.fn, emit.value(inner))


def _directed(emit: Expressions, node: Any) -> Value:
    mode, operation = (str(word.value) for word in node.args[:2])
    return directed(emit.fn, mode, operation, [emit.value(arg) for arg in node.args[2:]])


_SPECIAL = {
    ROUNDED: _rounded,
    DIRECTED: _directed,
    "sigmoid": _sigmoid,
    "nextafter": _nextafter,
    "rsqrt": _rsqrt,
    "isnan": _isnan,
    "popcount": _popcount,
    "clz": _clz,
    "ldexp": _ldexp,
}


# -- across lanes ---------------------------------------------------------------------------------------------


def across(fn: Function, value: Value, kind: str) -> Value:
    """All lanes of a vector joined to one value, halves at a time."""
    lanes, current = value.lanes, value
    while lanes > 1:
        lanes //= 2
        low = _part(fn, current, 0, lanes)
        high = _part(fn, current, lanes, lanes)
        current = _join(fn, kind, low, high)
    text = current.text
    if current.type.startswith("<"):
        text = fn.op(f"extractelement {current.type} {text}, i64 0")
    return Value(text, value.dtype, 1)


def _part(fn: Function, value: Value, start: int, lanes: int) -> Value:
    if lanes == 1:
        return Value(fn.op(f"extractelement {value.type} {value.text}, i64 {start}"), value.dtype, 1)
    numbers = ", ".join(f"i32 {start + i}" for i in range(lanes))
    text = f"shufflevector {value.type} {value.text}, {value.type} poison, <{lanes} x i32> <{numbers}>"
    return Value(fn.op(text), value.dtype, lanes)


def _join(fn: Function, kind: str, a: Value, b: Value) -> Value:
    floats = is_float(a.dtype)
    if kind == "sum" and a.dtype == "bool":
        text = f"or {a.type} {a.text}, {b.text}"
    elif kind == "sum":
        text = f"{'fadd' if floats else 'add'} {a.type} {a.text}, {b.text}"
    elif kind == "prod":
        text = f"{'fmul' if floats else 'mul'} {a.type} {a.text}, {b.text}"
    elif kind.startswith(("max", "min")):
        sign = "o" if floats else ("s" if is_signed(a.dtype) else "u")
        word = f"{'fcmp' if floats else 'icmp'} {sign}{'gt' if kind.startswith('max') else 'lt'}"
        test = fn.op(f"{word} {a.type} {b.text}, {a.text}")
        if floats and kind.endswith(".nan"):
            unordered = fn.op(f"fcmp uno {b.type} {b.text}, {b.text}")
            test = fn.op(f"or {vector('i1', a.lanes)} {test}, {unordered}")
        text = f"select {vector('i1', a.lanes)} {test}, {a.type} {b.text}, {a.type} {a.text}"
    else:
        text = f"{kind.removeprefix('bit')} {a.type} {a.text}, {b.text}"
    return Value(fn.op(text), a.dtype, a.lanes)
