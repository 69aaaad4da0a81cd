"""Parameters that may be one tensor: a call may pass the same one to be read and to be written (in place)."""

from __future__ import annotations

from collections.abc import Set

from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import PrimFunc, Var, is_buffer_var, structural_equal

FACT = "one_tensor"  # names of parameters between which a barrier stands for that reason


def possible_twins(func: PrimFunc, touched: Set[Var], written: Set[Var]) -> dict[Var, set[Var]]:
    """For each parameter that is only read the written ones of its element type and shape, and the other way round.

    A call may give one tensor for others too (:func:`tilecore.ir.memory_writes.may_be_one`). Those need no barriers: it
    is right only where each element is read before the same iteration writes it, and so by the same thread."""
    params = [p for p in func.params if is_buffer_var(p)]
    stored = [p for p in params if p in written]
    loaded = [p for p in params if p in touched and p not in written]
    found: dict[Var, set[Var]] = {}
    for one in loaded:
        for other in stored:
            if dtype_of(one) == dtype_of(other) and structural_equal(list(one.shape), list(other.shape)):
                found.setdefault(one, set()).add(other)
                found.setdefault(other, set()).add(one)
    return found
