"""Finds expressions with side effects, which must run exactly as often as in the program."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tilecore.ir.build import const, dtype_of, op_name
from tilecore.ir.nodes import Call, structural_map
from tilecore.ir.tile_op_table import PREFIX, TILE_OPS
from tilecore.ir.visit import collect

_CALLS = {
    *(op.full_name for op in TILE_OPS.values() if not op.is_mark),
    "call_extern",
    "call_packed",
    "call_llvm_intrin",
}


def has_effect(call: Call) -> bool:
    """Does the call itself, apart from its operands, have a side effect?"""
    return op_name(call) in _CALLS


def effect_in(node: Any) -> str | None:
    """The name of a call with an effect inside ``node`` (``atomic_element``, ``allreduce``, ...), or None."""
    for call in collect(node, Call):
        if has_effect(call):
            return op_name(call).removeprefix(PREFIX)
    return None


def without_calls(expression: Any, names: Collection[str]) -> Any:
    """``expression`` with 0 in place of each call of these names, whose values do not matter."""
    if not any(op_name(call) in names for call in collect(expression, Call)):
        return expression
    return structural_map(expression, (Call, lambda call: const(0, dtype_of(call)) if op_name(call) in names else call))
