"""Registers the calls of tilecore as TVM ops, so that the IR may contain them."""

from __future__ import annotations

from functools import cache

from tilecore.ir.nodes import CallEffectKind, register_op_attr


@cache  # TVM takes an attribute of an op once
def register_call(name: str, *, pure: bool = False) -> str:
    """Make ``name`` (with its namespace: "simt.barrier") a call that IR may have, and return it.

    pure: the call has no side effects, so passes may merge or remove it. The call is printed by its name.
    """
    effect = CallEffectKind.Pure if pure else CallEffectKind.Opaque
    register_op_attr(name, "TCallEffectKind", effect.value)
    register_op_attr(name, "TScriptPrinterName", name, level=20)
    return name
