"""Which memory lowered code may write: too much rather than too little."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from tilecore.ir.build import op_name
from tilecore.ir.intrinsics import ADDRESS
from tilecore.ir.nodes import BufferStore, Call, Evaluate, TensorLoad, Var
from tilecore.ir.visit import collect, variables


def written_memory(node: Any, roots: Mapping[Var, Var]) -> set[Var]:
    """The buffers that ``node`` may write: those of stores, and all that stand in calls with effects. Of views, the
    buffer whose memory they are (``roots``, of ``memory_roots``)."""
    buffers = {store.buffer for store in collect(node, BufferStore)}
    calls = [call for call in collect(node, Call) if op_name(call) in ("tile.atomic_element", ADDRESS)]
    for call in [*(statement.value for statement in collect(node, Evaluate)), *calls]:
        buffers |= variables(call) | {load.source for load in collect(call, TensorLoad)}
    return {roots.get(buffer, buffer) for buffer in buffers}


def reads_any(value: Any, memory: Set[Var], roots: Mapping[Var, Var]) -> bool:
    """Does ``value`` read an element of a buffer of ``memory``, by whatever name?"""
    return any(roots.get(load.source, load.source) in memory for load in collect(value, TensorLoad))
