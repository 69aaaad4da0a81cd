"""Finds parameters that may alias: a call may pass one tensor both to be read and to be written (in place)."""

from __future__ import annotations

from collections.abc import Set

from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import PrimFunc, Var, is_buffer_var, structural_equal


def may_alias_parameters(func: PrimFunc, accessed: Set[Var], written: Set[Var]) -> dict[Var, set[Var]]:
    """For each parameter that is only read the written ones of its element type and shape, and the other way round.

    A call may give one tensor for others too (:func:`tilecore.ir.memory_writes.may_alias`). Those need no barriers: it
    is right only where each element is read before the same iteration writes it, and so by the same thread."""
    params = [p for p in func.params if is_buffer_var(p)]
    written_params = [p for p in params if p in written]
    read_params = [p for p in params if p in accessed and p not in written]
    aliases: dict[Var, set[Var]] = {}
    for one in read_params:
        for other in written_params:
            if dtype_of(one) == dtype_of(other) and structural_equal(list(one.shape), list(other.shape)):
                aliases.setdefault(one, set()).add(other)
                aliases.setdefault(other, set()).add(one)
    return aliases
