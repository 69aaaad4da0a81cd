"""Calls of asynchronous copies: groups that a thread starts, and waits for (docs/simt.md)."""

from __future__ import annotations

from tilecore.ir.build import const
from tilecore.ir.nodes import Call, Evaluate, Stmt
from tilecore.ir.register_call import register_call

# (dst: BufferLoad, src: BufferLoad, bytes: int, valid: bool)
COPY = register_call("simt.copy_async")
COMMIT = register_call("simt.commit_async")
# (groups that may still be on their way: int)
WAIT = register_call("simt.wait_async")
ASYNC = "async"  # the hint of a copy that may be asynchronous, and the annotation of its nest
ASYNC_NEST = 2  # the value of a nest's attribute that says so; 1: it may not


def commit() -> Stmt:
    return Evaluate(Call(COMMIT, [], ret_ty="void"))


def wait(groups: int) -> Stmt:
    return Evaluate(Call(WAIT, [const(groups, "int32")], ret_ty="void"))
