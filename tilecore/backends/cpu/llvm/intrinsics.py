"""LLVM's own functions of values, declared as they are called."""

from __future__ import annotations

from tilecore.backends.cpu.llvm.function import Function
from tilecore.backends.cpu.llvm.types import Value

# tirx name -> LLVM intrinsic on floats
NAMES = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "roundeven",
    "nearbyint": "nearbyint",
    "fabs": "fabs",
    "abs": "fabs",
    "copysign": "copysign",
    "minnum": "minnum",
    "maxnum": "maxnum",
    "fma": "fma",
}


def suffix(kind: str) -> str:
    """An LLVM type as it stands in the name of an intrinsic."""
    if not kind.startswith("<"):
        return {"float": "f32", "double": "f64", "half": "f16"}.get(kind, kind)
    lanes, _, element = kind[1:-1].partition(" x ")
    return f"v{lanes}{suffix(element)}"


def overload(value: Value) -> str:
    """The type of ``value`` as it stands in the name of an intrinsic."""
    return suffix(value.type)


def intrinsic(fn: Function, word: str, args: list[Value], *more: str) -> Value:
    """Call ``llvm.<word>`` overloaded on the type of its arguments; ``more`` are further typed operands."""
    first = args[0]
    name = f"llvm.{word}.{overload(first)}"
    kinds = [a.type for a in args] + [m.split(" ")[0] for m in more]
    fn.module.declare(name, f"{first.type} {{}}({', '.join(kinds)})")
    operands = [f"{a.type} {a.text}" for a in args] + list(more)
    return Value(fn.op(f"call {first.type} @{name}({', '.join(operands)})"), first.dtype, first.lanes)


def call(fn: Function, name: str, args: list[Value]) -> Value:
    """A function of floats by its LLVM name (floor, maxnum, ...)."""
    word = NAMES.get(name, name)
    if word == "roundeven" and fn.module.system != "linux":
        # without an instruction for it LLVM calls the C library's function, which only glibc has; the rounding mode is
        # to nearest, ties to even
        word = "nearbyint"
    return intrinsic(fn, word, args)


def saturating(fn: Function, word: str, value: Value, target: str) -> Value:
    """Float to integer: truncated, out of range to the nearest limit, NaN to 0."""
    result = Value("", target, value.lanes)
    name = f"llvm.{word}.sat.{overload(result)}.{overload(value)}"
    fn.module.declare(name, f"{result.type} {{}}({value.type})")
    result.text = fn.op(f"call {result.type} @{name}({value.type} {value.text})")
    return result
