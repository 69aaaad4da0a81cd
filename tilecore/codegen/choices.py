"""Emits logical operators and selections, with short-circuit evaluation as in the language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.codegen.arithmetic import wrapped
from tilecore.codegen.text import AND, OR, Text
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import GE, GT, LE, LT, Sub, structural_equal

if TYPE_CHECKING:
    from tilecore.codegen.expressions import Expressions


def conjunction(emit: Expressions, node: Any) -> Text:
    return emit.typed_binary("&&", AND, emit.value(node.a), emit.value(node.b), "bool")


def disjunction(emit: Expressions, node: Any) -> Text:
    return emit.typed_binary("||", OR, emit.value(node.a), emit.value(node.b), "bool")


def chosen(emit: Expressions, condition: Any, then: Any, otherwise: Any) -> Text:
    """``then`` where ``condition`` holds, else ``otherwise``."""
    of = _absolute_of(condition, then, otherwise) if emit.dialect.calls_narrow_abs else None
    if of is not None:
        return wrapped(emit, emit.function("tc_abs", emit.value(of)), dtype_of(of))
    return emit.choice(emit.value(condition), emit.value(then), emit.value(otherwise))


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
