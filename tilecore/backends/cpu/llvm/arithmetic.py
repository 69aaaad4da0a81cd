"""Arithmetic, comparisons and operations on bits as LLVM instructions; a 4-bit integer stands in a byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore.backends.cpu.llvm import intrinsics
from tilecore.backends.cpu.llvm.function import Function
from tilecore.backends.cpu.llvm.narrow import settled
from tilecore.backends.cpu.llvm.types import Value, is_float, is_narrow, is_signed, literal, vector
from tilecore.dtypes import FACTS
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant
from tilecore.ir.contraction import negated
from tilecore.ir.nodes import Mul

if TYPE_CHECKING:
    from tilecore.backends.cpu.llvm.expressions import Expressions

_ARITHMETIC = {"Add": "add", "Sub": "sub", "Mul": "mul"}
_BITS = {"BitwiseAnd": "and", "BitwiseOr": "or", "BitwiseXor": "xor", "LShift": "shl", "RShift": "shr"}
_COMPARE = {"LT": "lt", "LE": "le", "GT": "gt", "GE": "ge", "EQ": "eq", "NE": "ne"}


def same(fn: Function, like: Value, text: str) -> Value:
    """The result of the instruction ``text``, in the element type and lanes of ``like``."""
    return Value(fn.op(text), like.dtype, like.lanes)


def wrapped(fn: Function, value: Value) -> Value:
    """An integer brought back into the range of its type: a 4-bit one stands in a byte."""
    if FACTS[value.dtype].bits >= 8:
        return value
    if not is_signed(value.dtype):
        return same(fn, value, f"and {value.type} {value.text}, {literal(15, value.dtype, value.lanes).text}")
    four = literal(4, value.dtype, value.lanes).text
    high = fn.op(f"shl {value.type} {value.text}, {four}")
    return same(fn, value, f"ashr {value.type} {high}, {four}")


def _product(emit: Expressions, node: Any) -> Value:
    """A product that is rounded by itself: LLVM, as TVM sets it up, would merge it with a sum that it gets into."""
    product = factor(emit, node)
    is_exact = not is_float(product.dtype) or is_narrow(product.dtype) or negated(node) is not None
    return product if is_exact else fenced(emit.fn, product)


def fenced(fn: Function, value: Value) -> Value:
    """The value, which LLVM does not merge with the operations around it."""
    return intrinsics.intrinsic(fn, "arithmetic.fence", [value])


def factor(emit: Expressions, node: Any) -> Value:
    """An operand of what is no sum: a product may stand there as it is."""
    return _plain(emit, node) if isinstance(node, Mul) else emit.value(node)


def _sum(emit: Expressions, node: Any) -> Value:
    return _binary_operation(emit, node, emit.value(node.a), emit.value(node.b))


def _plain(emit: Expressions, node: Any) -> Value:
    return _binary_operation(emit, node, factor(emit, node.a), factor(emit, node.b))


def _binary_operation(emit: Expressions, node: Any, a: Value, b: Value) -> Value:
    word = _ARITHMETIC[type(node).__name__]
    if is_float(a.dtype):
        return same(emit.fn, a, f"f{word} {a.type} {a.text}, {b.text}")
    flag = "nsw " if emit.exact and is_signed(a.dtype) and a.lanes == 1 else ""
    return wrapped(emit.fn, same(emit.fn, a, f"{word} {flag}{a.type} {a.text}, {b.text}"))


def _is_harmless(divisor: Any) -> bool:
    """Is the divisor known to be neither 0 nor -1?"""
    name = type(divisor).__name__
    if name == "Broadcast":
        return _is_harmless(divisor.value)
    value = constant(divisor)
    if value is not None:
        return value not in (0, -1)
    if name == "Max" and any(_is_positive(side) for side in (divisor.a, divisor.b)):
        return True
    return _is_positive(divisor)


def _is_positive(scalar: Any) -> bool:
    value = scalar.value if type(scalar).__name__ == "Broadcast" else scalar
    return value.ty.dtype.lanes == 1 and bool(Analyzer().can_prove(value > 0))


def _divisor(emit: Expressions, a: Value, b: Value, node: Any) -> Value:
    """``b`` as the divisor of the integer ``a``, with 1 in the place of what the processor would stop at: 0, and -1
    of the lowest integer, whose quotient by 1 is the one that wraps."""
    if _is_harmless(node):
        return b
    test = vector("i1", a.lanes)
    bad = emit.fn.op(f"icmp eq {b.type} {b.text}, {literal(0, b.dtype, b.lanes).text}")
    if is_signed(a.dtype):
        lowest = literal(-(2 ** (max(8, FACTS[a.dtype].bits) - 1)), a.dtype, a.lanes).text
        low = emit.fn.op(f"icmp eq {a.type} {a.text}, {lowest}")
        minus = emit.fn.op(f"icmp eq {b.type} {b.text}, {literal(-1, b.dtype, b.lanes).text}")
        bad = emit.fn.op(f"or {test} {bad}, {emit.fn.op(f'and {test} {low}, {minus}')}")
    unit = literal(1, b.dtype, b.lanes).text
    return same(emit.fn, b, f"select {test} {bad}, {b.type} {unit}, {b.type} {b.text}")


def _div(emit: Expressions, node: Any) -> Value:
    a, b = factor(emit, node.a), factor(emit, node.b)
    if is_float(a.dtype):
        return same(emit.fn, a, f"fdiv {a.type} {a.text}, {b.text}")
    b = _divisor(emit, a, b, node.b)
    return wrapped(emit.fn, same(emit.fn, a, f"{'s' if is_signed(a.dtype) else 'u'}div {a.type} {a.text}, {b.text}"))


def _mod(emit: Expressions, node: Any) -> Value:
    a, b = emit.value(node.a), emit.value(node.b)
    if not is_float(a.dtype):
        b = _divisor(emit, a, b, node.b)
    return same(emit.fn, a, f"{'s' if is_signed(a.dtype) else 'u'}rem {a.type} {a.text}, {b.text}")


def _floor(emit: Expressions, node: Any) -> Value:
    """Division rounded down, or its remainder: shifts for powers of two, else C's division put right."""
    is_div = type(node).__name__ == "FloorDiv"
    a, b = emit.value(node.a), emit.value(node.b)
    if is_float(a.dtype):
        quotient = same(emit.fn, a, f"fdiv {a.type} {a.text}, {b.text}")
        whole = intrinsics.call(emit.fn, "floor", [quotient])
        if is_div:
            return whole
        return same(emit.fn, a, f"fsub {a.type} {a.text}, {emit.fn.op(f'fmul {a.type} {whole.text}, {b.text}')}")
    divisor = constant(node.b.value) if type(node.b).__name__ == "Broadcast" else constant(node.b)
    if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        number = divisor.bit_length() - 1 if is_div else divisor - 1
        shift = "ashr" if is_signed(a.dtype) else "lshr"
        word = shift if is_div else "and"
        return same(emit.fn, a, f"{word} {a.type} {a.text}, {literal(number, a.dtype, a.lanes).text}")
    b = _divisor(emit, a, b, node.b)
    if not is_signed(a.dtype):
        return same(emit.fn, a, f"u{'div' if is_div else 'rem'} {a.type} {a.text}, {b.text}")
    rest = emit.fn.op(f"srem {a.type} {a.text}, {b.text}")
    zero = literal(0, a.dtype, a.lanes).text
    test = vector("i1", a.lanes)
    inexact = emit.fn.op(f"icmp ne {a.type} {rest}, {zero}")
    opposite = emit.fn.op(f"icmp slt {a.type} {emit.fn.op(f'xor {a.type} {rest}, {b.text}')}, {zero}")
    wrong = emit.fn.op(f"and {test} {inexact}, {opposite}")
    if is_div:
        quotient_text = emit.fn.op(f"sdiv {a.type} {a.text}, {b.text}")
        less = emit.fn.op(f"sext {test} {wrong} to {a.type}")
        return wrapped(emit.fn, same(emit.fn, a, f"add {a.type} {quotient_text}, {less}"))
    fix = emit.fn.op(f"select {test} {wrong}, {a.type} {b.text}, {a.type} {zero}")
    return same(emit.fn, a, f"add {a.type} {rest}, {fix}")


def _extreme(emit: Expressions, node: Any) -> Value:
    name = "max" if type(node).__name__ == "Max" else "min"
    a, b = emit.value(node.a), emit.value(node.b)
    if is_float(a.dtype):
        return intrinsics.call(emit.fn, f"{name}num", [a, b])
    word = ("s" if is_signed(a.dtype) else "u") + name
    return intrinsics.intrinsic(emit.fn, word, [a, b])


def _compare(emit: Expressions, node: Any) -> Value:
    word = _COMPARE[type(node).__name__]
    a, b = (settled(emit.fn, emit.value(side)) for side in (node.a, node.b))
    if is_float(a.dtype):
        text = f"fcmp {'une' if word == 'ne' else 'o' + word} {a.type} {a.text}, {b.text}"
    else:
        sign = "" if word in ("eq", "ne") else ("s" if is_signed(a.dtype) else "u")
        text = f"icmp {sign}{word} {a.type} {a.text}, {b.text}"
    return Value(emit.fn.op(text), "bool", a.lanes)


def _bits(emit: Expressions, node: Any) -> Value:
    a, b = emit.value(node.a), emit.value(node.b)
    word = _BITS[type(node).__name__]
    if word == "shr":
        word = "ashr" if is_signed(a.dtype) else "lshr"
    return wrapped(emit.fn, same(emit.fn, a, f"{word} {a.type} {a.text}, {b.text}"))


def _bitwise_not(emit: Expressions, node: Any) -> Value:
    a = emit.value(node.a)
    all_bits = literal(True if a.dtype == "bool" else -1, a.dtype, a.lanes)
    return wrapped(emit.fn, same(emit.fn, a, f"xor {a.type} {a.text}, {all_bits.text}"))


def _not(emit: Expressions, node: Any) -> Value:
    a = emit.value(node.a)
    return same(emit.fn, a, f"xor {a.type} {a.text}, {literal(True, 'bool', a.lanes).text}")


HANDLERS: dict[str, Callable[[Expressions, Any], Value]] = {
    **dict.fromkeys(("Add", "Sub"), _sum),
    "Mul": _product,
    "Div": _div,
    "Mod": _mod,
    **dict.fromkeys(("FloorDiv", "FloorMod"), _floor),
    **dict.fromkeys(("Min", "Max"), _extreme),
    **dict.fromkeys(_COMPARE, _compare),
    "Not": _not,
    **dict.fromkeys(_BITS, _bits),
    "BitwiseNot": _bitwise_not,
}
