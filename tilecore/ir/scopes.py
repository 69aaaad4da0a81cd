"""Classifies the memory of a buffer by its scope.

The scopes are "global" (the default), "shared" and "shared.dyn", "local" and "local.var" (private memory of each
thread), "local.fragment" (a tile in the registers of the threads of a block), and "reduce." with a kind of reduction
(the scalar total of a lowered reduction, private to the code that reduces).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilecore.ir.nodes import Var

ARENA = "shared.call"  # the shared memory whose size only the call gives: place_dynamic_shared.py
PRIVATE = ("local", "local.var")
FRAGMENT = "local.fragment"
REDUCE = "reduce."


def is_global(buffer: Var) -> bool:
    """Is the buffer in global memory?"""
    return str(buffer.scope()) == "global"


def is_shared(buffer: Var) -> bool:
    """Is the buffer in the memory that the threads of a block share?"""
    return str(buffer.scope()).startswith("shared")


def is_fragment(buffer: Var) -> bool:
    """Is the buffer a tile whose elements are partitioned over the registers of threads?"""
    return str(buffer.scope()) == FRAGMENT


def is_total(buffer: Var) -> bool:
    """Is the buffer the scalar total of a lowered reduction?"""
    return str(buffer.scope()).startswith(REDUCE)


def is_private(buffer: Var) -> bool:
    """Does every thread have its own copy of the buffer? That includes the totals of reductions."""
    return str(buffer.scope()) in PRIVATE or is_total(buffer)


def is_own(buffer: Var) -> bool:
    """Is the buffer in registers: private memory of each thread, or a fragment?"""
    return is_private(buffer) or is_fragment(buffer)
