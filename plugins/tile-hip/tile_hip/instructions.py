"""The calls ``hip.*`` of thread IR, which only this target has.

An operand that names registers is an element (BufferLoad): the first register of a thread's fragment.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import const
from tilecore.ir.nodes import Call, Evaluate, Stmt, StringImm
from tilecore.ir.register_call import register_call

# (instruction, along M, along N, d, a, b): tc_mma_<instruction> of the header, such as 32x32x16_f16
MMA = register_call("hip.mma")
SCHEDULING_FENCE = register_call("hip.scheduling_fence")  # (): tc_scheduling_fence of the header
# (): all threads of the block wait for one another, and see what the others wrote to shared memory, but not to global
SHARED_BARRIER = register_call("hip.shared_barrier")
# (to, from, bytes, valid): the first elements in LDS and in global memory. Zeros are written where it is not valid.
# Lanes of a wave write side by side. The arguments are those of "simt.copy_async".
COPY_TO_LDS = register_call("hip.copy_to_lds")
# (loads): this thread waits until all of its copies to LDS but the last so many have landed
WAIT_COPIES = register_call("hip.wait_copies")


def mma(instruction: str, along_m: int, along_n: int, d: Any, a: Any, b: Any, span: Any = None) -> Stmt:
    """The wave computes ``d += a * b`` by ``tc_mma_<instruction>`` (include/tilecore_hip/matrix.h).

    along_m, along_n: the number of neighbouring rows of a and columns of b in a lane, which go to as many products.
    d, a, b: the first register of each fragment.
    """
    counts = [const(count, "int32") for count in (along_m, along_n)]
    return Evaluate(Call(MMA, [StringImm(instruction), *counts, d, a, b], ret_ty="void"), span=span)


def scheduling_fence(span: Any = None) -> Stmt:
    """The compiler moves no instruction across it."""
    return Evaluate(Call(SCHEDULING_FENCE, [], ret_ty="void"), span=span)


def shared_barrier(span: Any = None) -> Stmt:
    """A barrier of the block that orders accesses of shared memory alone."""
    return Evaluate(Call(SHARED_BARRIER, [], ret_ty="void"), span=span)


def copy_to_lds(to: Any, source: Any, size: Any, valid: Any, span: Any = None) -> Stmt:
    """Starts a copy of ``size`` bytes for each lane from global memory to LDS."""
    return Evaluate(Call(COPY_TO_LDS, [to, source, size, valid], ret_ty="void"), span=span)


def wait_copies(count: int, span: Any = None) -> Stmt:
    """A wait for all copies to LDS that this thread has started but the last ``count``."""
    return Evaluate(Call(WAIT_COPIES, [const(count, "int32")], ret_ty="void"), span=span)
