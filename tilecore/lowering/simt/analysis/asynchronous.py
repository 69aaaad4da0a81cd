"""Defines the calls of asynchronous copies: a thread starts copies, commits them as a group, and waits for groups."""

from __future__ import annotations

from tilecore.ir.build import const
from tilecore.ir.nodes import Call, Evaluate, Stmt
from tilecore.ir.register_call import register_call

# (dst: BufferLoad, src: BufferLoad, bytes: int, valid: bool)
COPY = register_call("simt.copy_async")
COMMIT = register_call("simt.commit_async")
# (groups that may still be in flight: int)
WAIT = register_call("simt.wait_async")
ASYNC = "async"  # the hint of a copy that may be asynchronous, and the annotation of its nest
ASYNC_NEST = 2  # value of the attribute "simt.nest": the nest's copies may be asynchronous; 1: they may not


def commit() -> Stmt:
    """``simt.commit_async``: the copies that the thread has started since the last commit become one group."""
    return Evaluate(Call(COMMIT, [], ret_ty="void"))


def wait(groups: int) -> Stmt:
    """``simt.wait_async``: the thread waits until all of its groups but the last ``groups`` have completed."""
    return Evaluate(Call(WAIT, [const(groups, "int32")], ret_ty="void"))
