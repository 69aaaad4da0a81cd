"""Calls in expressions that are tilecore's own, besides the tile operations."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import Call, CallEffectKind, Expr, register_op_attr

# (value): the value, rounded to its type as it stands: not merged with the operations around it
ROUNDED = "tile.rounded"

register_op_attr(ROUNDED, "TCallEffectKind", CallEffectKind.Pure.value)
register_op_attr(ROUNDED, "TScriptPrinterName", ROUNDED, level=20)


def rounded(value: Any) -> Expr:
    """``value`` kept apart: a product in it does not become part of a fused multiply-add with a sum around it."""
    return Call(ROUNDED, [value], ret_ty=dtype_of(value))
