"""Emits logical operators and selections, with short-circuit evaluation as in the language.

An absolute value of 8 or 16 bits is a call of ``tc_abs`` and no choice: compilers find it in a choice, and NVRTC 13.0
then takes the largest of several with the neighbours' bits in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore.codegen.arithmetic import wrapped
from tilecore.codegen.text import AND, OR, UNARY, Text, binary, call, choice, within
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import GE, GT, LE, LT, Sub, structural_equal

if TYPE_CHECKING:
    from tilecore.codegen.expressions import Expressions


def _and(emit: Expressions, node: Any) -> Text:
    return binary("&&", AND, emit.value(node.a), emit.value(node.b))


def _or(emit: Expressions, node: Any) -> Text:
    return binary("||", OR, emit.value(node.a), emit.value(node.b))


def _not(emit: Expressions, node: Any) -> Text:
    return Text(f"!{within(emit.value(node.a), UNARY)}", UNARY)


def _select(emit: Expressions, node: Any) -> Text:
    return _choice(emit, node.condition, node.true_value, node.false_value)


def if_then_else(emit: Expressions, node: Any) -> Text:
    return _choice(emit, *node.args)


def _choice(emit: Expressions, condition: Any, then: Any, otherwise: Any) -> Text:
    of = _absolute_of(condition, then, otherwise)
    if of is not None:
        return wrapped(emit, call("tc_abs", emit.value(of)), dtype_of(of))
    return choice(emit.value(condition), emit.value(then), emit.value(otherwise))


def _absolute_of(condition: Any, then: Any, otherwise: Any) -> Any:
    """The number of few bits whose absolute value a choice is."""
    if isinstance(condition, (LT, LE)):
        then, otherwise = otherwise, then
    elif not isinstance(condition, (GE, GT)):
        return None
    facts = FACTS.get(dtype_of(then))
    if facts is None or facts.kind != "int" or facts.bits not in (8, 16) or constant(condition.b) != 0:
        return None
    is_negated = isinstance(otherwise, Sub) and constant(otherwise.a) == 0 and structural_equal(otherwise.b, then)
    return then if is_negated and structural_equal(condition.a, then) else None


HANDLERS: dict[str, Callable[[Expressions, Any], Text]] = {"And": _and, "Or": _or, "Not": _not, "Select": _select}
