"""Calls of asynchronous copies: groups that a thread starts, and waits for (docs/simt.md)."""

from __future__ import annotations

from tilecore.ir.build import const
from tilecore.ir.nodes import Call, CallEffectKind, Evaluate, Stmt, register_op_attr

# (dst: BufferLoad, src: BufferLoad, bytes: int, valid: bool)
COPY = "simt.copy_async"
COMMIT = "simt.commit_async"
# (groups that may still be on their way: int)
WAIT = "simt.wait_async"
ASYNC = "async"  # the hint of a copy that may be asynchronous, and the annotation of its nest
ASYNC_NEST = 2  # the value of a nest's attribute that says so; 1: it may not

for _name in (COPY, COMMIT, WAIT):
    register_op_attr(_name, "TCallEffectKind", CallEffectKind.Opaque.value)
    register_op_attr(_name, "TScriptPrinterName", _name, level=20)


def commit() -> Stmt:
    return Evaluate(Call(COMMIT, [], ret_ty="void"))


def wait(groups: int) -> Stmt:
    return Evaluate(Call(WAIT, [const(groups, "int32")], ret_ty="void"))
