"""Finds expressions with side effects, which must run exactly as often as in the program."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call
from tilecore.ir.tile_ops import PREFIX, TILE_OPS
from tilecore.ir.visit import collect

_CALLS = {
    *(op.full_name for op in TILE_OPS.values() if op.name not in ("assume", "annotate")),
    "call_extern",
    "call_packed",
    "call_llvm_intrin",
}


def effect_in(node: Any) -> str | None:
    """The name of a call with an effect inside ``node`` (``atomic_element``, ``allreduce``, ...), or None."""
    for call in collect(node, Call):
        name = op_name(call)
        if name in _CALLS:
            return name.removeprefix(PREFIX)
    return None
