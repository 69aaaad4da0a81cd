"""Hooks for operators: Python's meaning for Python values, tile IR for values of the kernel."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from tilecore.dtypes import dtype
from tilecore.errors import LanguageError
from tilecore.frontend.python_state import Watch
from tilecore.ir.effects import effect_in
from tilecore.ir.nodes import Bind
from tilecore.language.buffers import BufferHandle
from tilecore.language.conditions import logical_and, logical_not, logical_or, select
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.current import current
from tilecore.tracing.held_values import without_binds

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder

_MEMBERS: tuple[type[Collection[Any]], ...] = (list, tuple, set, frozenset, dict, type({}.keys()), type({}.values()))
_MOST_COMPARED = 256


def and_(value: Any, *parts: Callable[[], Any]) -> Any:
    """The truth of ``value and ...``"""
    return _combined(value, parts, True, logical_and)


def or_(value: Any, *parts: Callable[[], Any]) -> Any:
    """The truth of ``value or ...``"""
    return _combined(value, parts, False, logical_or)


def and_operand(value: Any, *parts: Callable[[], Any]) -> Any:
    """``value and ...``: the first operand that is false, or the last one. Of the kernel's values both have the
    element type that holds both."""
    return _combined(value, parts, True, lambda a, b: logical_and(a, b) if _are_bool(a, b) else select(a, b, a))


def or_operand(value: Any, *parts: Callable[[], Any]) -> Any:
    """``value or ...``: the first operand that is true, or the last one."""
    return _combined(value, parts, False, lambda a, b: logical_or(a, b) if _are_bool(a, b) else select(a, a, b))


def _combined(
    value: Any, parts: tuple[Callable[[], Any], ...], is_and: bool, combine: Callable[[Any, Any], Any]
) -> Any:
    for part in parts:
        if is_kernel_value(value):
            value = combine(value, _conditional_operand(part, "`and`" if is_and else "`or`"))
        elif bool(value) is is_and:
            value = part()
        else:
            return value
    return value


def _are_bool(*values: Any) -> bool:
    return all(isinstance(v, bool) or (is_kernel_value(v) and str(as_expr(v).ty.dtype) == "bool") for v in values)


def decided(value: Any) -> bool:
    """The truth of a condition that decides whether an operand with `:=` is evaluated: Python must know it."""
    if is_kernel_value(value):
        raise LanguageError(
            "a name is assigned (`:=`) in an operand that the kernel evaluates only sometimes",
            hint="assign it before, in a statement of its own, or in an `if`",
        ).at(current().location)
    return bool(value)


class OperandWithCalls:
    """An operand with calls, which may change Python data. Its constructor is called by the user's function."""

    def __init__(self, operand: Callable[[], Any]) -> None:
        self.operand, self.frame = operand, sys._getframe(1)

    def __call__(self) -> Any:
        return self.operand()


def _value_of_operand(builder: Builder, operand: Callable[[], Any], of: str) -> Any:
    """The value of an operand. Python evaluates it once in any case, so it must not change Python data."""
    if not isinstance(operand, OperandWithCalls):
        return operand()
    watch = Watch(operand.frame, ())
    builder.watches.append(watch)
    try:
        value = operand()
    finally:
        builder.watches.remove(watch)
    watch.check(builder, f"an operand of {of}")
    return value


def _conditional_operand(operand: Callable[[], Any], of: str) -> Any:
    """The value of an operand that is evaluated conditionally: it may have no side effect, and reads memory only when
    it is evaluated."""
    builder = current()
    with builder.block("operand") as frame:
        value = _value_of_operand(builder, operand, of)
        operand_value = as_expr(value) if is_kernel_value(value) and not isinstance(value, BufferHandle) else None
    for statement in frame.statements:
        if not isinstance(statement, Bind) or effect_in(statement) is not None:
            raise LanguageError(
                f"an operand of {of} has a side effect",
                found=str(builder.in_place(statement)).strip().rpartition("\n")[2].strip()[:120],
                hint="the side effect would happen whatever the other operands are: first assign the value to a "
                "variable, in an `if`",
            ).at(builder.location)
    if operand_value is None:
        return value
    others, inlined = without_binds(frame.statements, operand_value)
    for statement in others:
        builder.emit(statement)
    return inlined


def contains(value: Any, container: Any) -> Any:
    """``value in container``; for values of the kernel, whether the value equals one of the members."""
    if isinstance(container, range) and is_kernel_value(value):
        return _in_range(value, container)
    if not isinstance(container, _MEMBERS):
        return value in container
    members = list(container)
    if not any(is_kernel_value(part) and not isinstance(part, BufferHandle) for part in (value, *members)):
        return value in container
    if len(members) > _MOST_COMPARED:
        raise LanguageError(
            f"`in` compares a value of the kernel with {len(members)} values",
            expected=f"at most {_MOST_COMPARED}",
            hint="put the values into a tensor and search it in a loop",
        ).at(current().location)
    result: Any = False
    for member in members:
        same = True if member is value else as_expr(value) == as_expr(member)
        same = as_expr(same) if is_kernel_value(same) else bool(same)
        if same is True:
            return True
        if same is not False:
            result = same if result is False else logical_or(result, same)
    return result


def _in_range(value: Any, members: range) -> Any:
    if not members:
        return False
    low, high = min(members[0], members[-1]), max(members[0], members[-1])
    in_bounds = logical_and(as_expr(value) >= low, as_expr(value) <= high)
    if abs(members.step) == 1:
        return in_bounds
    return logical_and(in_bounds, (as_expr(value) - low) % abs(members.step) == 0)


def lacks(value: Any, container: Any) -> Any:
    """``value not in container``"""
    is_member = contains(value, container)
    return logical_not(is_member) if is_kernel_value(is_member) else not is_member


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(operator, name.lower()) for name in ("Lt", "Gt", "Eq")},
    **{"LtE": operator.le, "GtE": operator.ge, "NotEq": operator.ne, "Is": operator.is_, "IsNot": operator.is_not},
    "In": contains,
    "NotIn": lacks,
}


def chain(signs: tuple[str, ...], left: Any, right: Any, *operands: Callable[[], Any]) -> Any:
    """``a < b < c``: each operand once, and those on the right only where they decide."""
    value = _COMPARISONS[signs[0]](left, right)
    for sign, operand in zip(signs[1:], operands, strict=True):
        left = right
        if is_kernel_value(value):
            right = _conditional_operand(operand, "a chain of comparisons")
            value = logical_and(value, _COMPARISONS[sign](left, right))
        else:
            if not value:
                return value
            right = operand()
            value = _COMPARISONS[sign](left, right)
    return value


def divide(a: Any, b: Any) -> Any:
    """``a / b``; raises LanguageError for two integers, for which it is ambiguous."""
    if isinstance(a, BufferHandle) or isinstance(b, BufferHandle) or not (is_kernel_value(a) or is_kernel_value(b)):
        return a / b
    left, right = as_expr(a), as_expr(b)
    if not any(dtype(str(side.ty.dtype)).is_float for side in (left, right)):
        raise LanguageError(
            "`/` divides two integers of the kernel",
            found=f"{left} of {left.ty.dtype} / {right} of {right.ty.dtype}",
            hint='`//` rounds down; T.cast(a, "float32") / b divides as floats',
        )
    return a / b


def negate(value: Any) -> Any:
    """``-value``; of an unsigned integer it wraps."""
    if is_kernel_value(value) and not isinstance(value, BufferHandle):
        expression = as_expr(value)
        if dtype(str(expression.ty.dtype)).facts.kind == "uint":
            return as_expr(0, str(expression.ty.dtype)) - expression
    return -value


def not_(value: Any) -> Any:
    return logical_not(value) if is_kernel_value(value) else not value


def choose(test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """``then if test else orelse``"""
    if not is_kernel_value(test):
        return then() if test else orelse()
    return select(
        test,
        _conditional_operand(then, "a conditional expression"),
        _conditional_operand(orelse, "a conditional expression"),
    )
