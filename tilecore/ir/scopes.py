"""The kind of memory of a buffer, from its scope.

"global" (the default), "shared" and "shared.dyn", "local" and "local.var" (memory that each thread has for itself),
"local.fragment" (a tile in the registers of a block's threads), "reduce." and a kind of reduction (the partial result
of a lowered reduction, of whoever reduces).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilecore.ir.nodes import Var

PRIVATE = ("local", "local.var")
FRAGMENT = "local.fragment"
REDUCE = "reduce."


def is_global(buffer: Var) -> bool:
    return str(buffer.scope()) == "global"


def is_shared(buffer: Var) -> bool:
    return str(buffer.scope()).startswith("shared")


def is_fragment(buffer: Var) -> bool:
    return str(buffer.scope()) == FRAGMENT


def is_total(buffer: Var) -> bool:
    """Is it the partial result of a lowered reduction?"""
    return str(buffer.scope()).startswith(REDUCE)


def is_private(buffer: Var) -> bool:
    """Does every thread have its own? Partial results belong to whoever reduces."""
    return str(buffer.scope()) in PRIVATE or is_total(buffer)


def is_own(buffer: Var) -> bool:
    """Registers: memory of one thread, or a fragment."""
    return is_private(buffer) or is_fragment(buffer)
