"""Finds statements that fill a buffer with zeros."""

from __future__ import annotations

from typing import Any

from tilecore.ir.nodes import Evaluate, FloatImm, IntImm, Stmt, Var
from tilecore.ir.regions import is_whole
from tilecore.ir.tile_ops import as_tile_call


def cleared_buffer(statement: Stmt) -> Var | None:
    """The buffer that the statement fills entirely with zeros, or None."""
    call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
    if call is None or call.op.name != "fill" or not _is_zero(call.value):
        return None
    return call.dst.source if is_whole(call.dst) else None


def _is_zero(value: Any) -> bool:
    return isinstance(value, (IntImm, FloatImm)) and value.value == 0
