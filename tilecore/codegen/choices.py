"""Logic and choices; C evaluates only what decides, as the language does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore.codegen.text import AND, OR, UNARY, Text, binary, choice, within

if TYPE_CHECKING:
    from tilecore.codegen.expressions import Expressions


def _and(emit: Expressions, node: Any) -> Text:
    return binary("&&", AND, emit.value(node.a), emit.value(node.b))


def _or(emit: Expressions, node: Any) -> Text:
    return binary("||", OR, emit.value(node.a), emit.value(node.b))


def _not(emit: Expressions, node: Any) -> Text:
    return Text(f"!{within(emit.value(node.a), UNARY)}", UNARY)


def _select(emit: Expressions, node: Any) -> Text:
    return choice(emit.value(node.condition), emit.value(node.true_value), emit.value(node.false_value))


def if_then_else(emit: Expressions, node: Any) -> Text:
    condition, then, otherwise = node.args
    return choice(emit.value(condition), emit.value(then), emit.value(otherwise))


HANDLERS: dict[str, Callable[[Expressions, Any], Text]] = {"And": _and, "Or": _or, "Not": _not, "Select": _select}
