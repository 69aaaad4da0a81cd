"""Choices: selects, and branches that evaluate only the side that is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore.backends.cpu.llvm.arithmetic import same
from tilecore.backends.cpu.llvm.narrow import narrow, widen
from tilecore.backends.cpu.llvm.types import Value, is_float, is_narrow, literal, split
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import Call, TensorLoad, tirx
from tilecore.ir.visit import collect

if TYPE_CHECKING:
    from tilecore.backends.cpu.llvm.expressions import Expressions

_DIVISIONS = (tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod)


def _logic(emit: Expressions, node: Any) -> Value:
    word = "and" if type(node).__name__ == "And" else "or"
    a = emit.value(node.a)
    if a.lanes > 1 or not _only_if_chosen(node.b):
        b = emit.value(node.b)
        return same(emit.fn, a, f"{word} {a.type} {a.text}, {b.text}")
    stop = literal(word == "or", "bool")
    return _branch(emit, a, *((node.b, stop) if word == "and" else (stop, node.b)))


def _select(emit: Expressions, node: Any) -> Value:
    condition = emit.value(node.condition)
    return _chosen(emit, condition, emit.lazy(node.true_value), emit.lazy(node.false_value))


def _chosen(emit: Expressions, condition: Value, a: Value, b: Value) -> Value:
    """Narrow floats that are only chosen between stay in their stored form, bit for bit."""
    test = f"select {condition.type} {condition.text}"
    if (a.raw and b.raw) or ((a.raw or b.raw) and loses_infinities(a.dtype)):
        text = f"{test}, {a.stored_type} {narrow(emit.fn, a)}, {b.stored_type} {narrow(emit.fn, b)}"
        return Value("", a.dtype, a.lanes, emit.fn.op(text))
    a, b = widen(emit.fn, a), widen(emit.fn, b)
    return same(emit.fn, a, f"{test}, {a.type} {a.text}, {b.type} {b.text}")


def loses_infinities(dtype: str) -> bool:
    """Does rounding to this type saturate, so that an infinity that is only moved must not be rounded?"""
    facts = FACTS[dtype]
    return facts.kind == "float" and facts.bits <= 8 and facts.has_infinity


def infinity_bits(number: float, dtype: str) -> int:
    """The stored form of plus or minus infinity, ``number``, in a float type that has infinities."""
    facts = FACTS[dtype]
    return (int(number < 0) << (facts.bits - 1)) | ((1 << facts.exponent) - 1) << facts.significand


def if_then_else(emit: Expressions, node: Call) -> Value:
    condition = emit.value(node.args[0])
    if condition.lanes > 1 or not any(_only_if_chosen(side) for side in node.args[1:]):
        return _chosen(emit, condition, emit.lazy(node.args[1]), emit.lazy(node.args[2]))
    return _branch(emit, condition, node.args[1], node.args[2])


def _only_if_chosen(node: Any) -> bool:
    """Must it run only where it is wanted? It reads memory, calls something or divides integers by a variable."""
    if collect(node, TensorLoad, Call):
        return True
    return any(not is_float(split(dtype_of(d))[0]) and constant(d.b) in (None, 0) for d in collect(node, *_DIVISIONS))


def _branch(emit: Expressions, condition: Value, then: Any, orelse: Any) -> Value:
    """Evaluates only the chosen side. A narrow float leaves it in its stored form."""
    fn = emit.fn
    yes, no, end = (fn.new_label(s) for s in ("then", "else", "join"))
    fn.branch(condition.text, yes, no)
    sides = []
    for label, side in ((yes, then), (no, orelse)):
        fn.label(label)
        value = side if isinstance(side, Value) else emit.lazy(side)
        text = narrow(fn, value) if is_narrow(value.dtype) else value.text
        sides.append((value, text, fn.block))
        fn.jump(end)
    fn.label(end)
    (a, first, from_yes), (_, second, from_no) = sides
    kind = a.stored_type if is_narrow(a.dtype) else a.type
    text = fn.op(f"phi {kind} [ {first}, %{from_yes} ], [ {second}, %{from_no} ]")
    return Value("", a.dtype, a.lanes, text) if is_narrow(a.dtype) else Value(text, a.dtype, a.lanes)


HANDLERS: dict[str, Callable[[Expressions, Any], Value]] = {
    "Select": _select,
    **dict.fromkeys(("And", "Or"), _logic),
}
