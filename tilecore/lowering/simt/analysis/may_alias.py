"""Finds parameters that may alias: a call may pass one tensor both to be read and to be written (in place)."""

from __future__ import annotations

from collections.abc import Set

from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import PrimFunc, Var, is_buffer_var, structural_equal


def may_alias_parameters(func: PrimFunc, accessed: Set[Var], written: Set[Var]) -> dict[Var, set[Var]]:
    """For each parameter that is only read, the written ones of its element type and shape, and vice versa.

    Other parameters may alias as well (:func:`tilecore.ir.memory_writes.may_alias`), but need no barriers: passing one
    tensor for them is correct only if each element is read before the same iteration writes it, by the same thread.
    """
    params = [p for p in func.params if is_buffer_var(p)]
    written_params = [p for p in params if p in written]
    read_params = [p for p in params if p in accessed and p not in written]
    aliases: dict[Var, set[Var]] = {}
    for read_param in read_params:
        for written_param in written_params:
            if dtype_of(read_param) == dtype_of(written_param) and structural_equal(
                list(read_param.shape), list(written_param.shape)
            ):
                aliases.setdefault(read_param, set()).add(written_param)
                aliases.setdefault(written_param, set()).add(read_param)
    return aliases
