"""The calls ``hip.*`` of thread IR, which only this target has."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import const
from tilecore.ir.nodes import Call, Evaluate, Stmt
from tilecore.ir.register_call import register_call

# (): all threads of the block wait for one another, and see what the others wrote to shared memory, but not to global
SHARED_BARRIER = register_call("hip.shared_barrier")
# (to, from, bytes, valid): the first elements in LDS and in global memory. Zeros are written where it is not valid.
# Lanes of a wave write side by side. The arguments are those of "simt.copy_async".
COPY_TO_LDS = register_call("hip.copy_to_lds")
# (loads): this thread waits until all of its copies to LDS but the last so many have landed
WAIT_COPIES = register_call("hip.wait_copies")


def copy_to_lds(to: Any, source: Any, size: Any, valid: Any, span: Any = None) -> Stmt:
    """Starts a copy of ``size`` bytes for each lane from global memory to LDS."""
    return Evaluate(Call(COPY_TO_LDS, [to, source, size, valid], ret_ty="void"), span=span)


def wait_copies(count: int, span: Any = None) -> Stmt:
    """A wait for all copies to LDS that this thread has started but the last ``count``."""
    return Evaluate(Call(WAIT_COPIES, [const(count, "int32")], ret_ty="void"), span=span)


def shared_barrier(span: Any = None) -> Stmt:
    """A barrier of the block that orders accesses of shared memory alone."""
    return Evaluate(Call(SHARED_BARRIER, [], ret_ty="void"), span=span)
