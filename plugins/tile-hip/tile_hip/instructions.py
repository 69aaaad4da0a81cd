"""The calls ``hip.*`` of thread IR, which only this target has."""

from __future__ import annotations

from typing import Any

from tilecore.ir.nodes import Call, Evaluate, Stmt
from tilecore.ir.register_call import register_call

# (): all threads of the block wait for one another, and see what the others wrote to shared memory, but not to global
SHARED_BARRIER = register_call("hip.shared_barrier")


def shared_barrier(span: Any = None) -> Stmt:
    """A barrier of the block that orders accesses of shared memory alone."""
    return Evaluate(Call(SHARED_BARRIER, [], ret_ty="void"), span=span)
