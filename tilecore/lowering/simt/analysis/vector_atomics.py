"""Recognizes and builds vector atomic additions: one operation on several neighbouring elements of global memory."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import const, dtype_of, load, op_name
from tilecore.ir.nodes import Call, Evaluate, Stmt, Var
from tilecore.ir.scopes import is_global
from tilecore.ir.thread_calls import ATOMIC_ADD, ATOMIC_ELEMENT
from tilecore.ir.thread_ops import thread_statement

_COUNTS = {"float32": (4, 2), "float16": (2,), "bfloat16": (2,)}


def addition(node: Any) -> Call | None:
    """The call, if ``node`` is an atomic addition to an element of global memory whose old value is not used and whose
    type has a vector form; else None."""
    if not isinstance(node, Evaluate) or op_name(node.value) != ATOMIC_ELEMENT:
        return None
    call = node.value
    if str(call.args[2].value) != "add":
        return None
    target = call.args[0].source
    return call if is_global(target) and dtype_of(target) in _COUNTS else None


def width_of(dtype: str, count: int) -> int | None:
    """How many of ``count`` neighbouring elements one operation takes; None where there is no such operation."""
    return next((width for width in _COUNTS[dtype] if count % width == 0), None)


def additions(call: Call, start: Any, values: Var, count: int, width: int, span: Any) -> list[Stmt]:
    """Atomic additions of the registers ``values`` to ``count`` elements from ``start`` on, ``width`` elements each."""
    statements: list[Stmt] = []
    for first in range(0, count, width):
        target = load(call.args[0].source, [start + first] if first else [start])
        args = [target, load(values, [const(first, "int32")]), width, str(call.args[3].value)]
        statements.append(thread_statement(ATOMIC_ADD, args, span=span))
    return statements
