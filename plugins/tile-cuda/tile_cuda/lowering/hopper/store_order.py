"""Finds writes of a tensor that a TMA store is not ordered with: TMA stores of a block run in any order.

A kernel waits for a store where the memory that it reads is written again, and at its end. So another write of the same
elements, before the store or after it, may be the one that is left.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant
from tilecore.ir.nodes import (
    Bind,
    BufferStore,
    Call,
    Evaluate,
    For,
    ForKind,
    Stmt,
    TensorRegion,
    Var,
    While,
    structural_equal,
)
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables


def unordered_write(region: TensorRegion, kernel: Stmt) -> str | None:
    """Why a TMA store of the region may meet another write of its elements; None where it does not.

    kernel: the code of the kernel with the copy, or with a copy to the same region that the store is to replace.
    """
    roots = memory_roots(kernel)

    def is_tensor(buffer: Var) -> bool:
        return bool(roots.get(buffer, buffer).same_as(region.source))

    name = str(region.source.name)
    if any(is_tensor(store.buffer) for store in collect(kernel, BufferStore)) or is_changed_in_place(kernel, is_tensor):
        return f"threads write {name}, too"
    written = [r for node in collect(kernel, Evaluate) for r in _written(as_tile_call(node)) if is_tensor(r.source)]
    same = [other for other in written if structural_equal(other, region)]
    if len(same) > 1:
        return f"the same elements of {name} are stored twice"
    if not all(_are_disjoint(region, other) for other in written if not structural_equal(other, region)):
        return f"another copy writes {name}, maybe the same elements"
    loop = _repeating_loop(region, kernel)
    return None if loop is None else f"iterations of {loop} store the same elements of {name}"


def _written(call: TileCall | None) -> list[TensorRegion]:
    if call is None:
        return []
    operands = [call.args[name] for name in call.op.writes if name in call.args]
    return [operand for operand in operands if isinstance(operand, TensorRegion)]


def is_changed_in_place(kernel: Stmt, is_tensor: Any) -> bool:
    """Whether a call that is no tile operation, such as an atomic one, names an element of the tensor."""
    calls = [node.value for node in collect(kernel, Evaluate) if as_tile_call(node) is None]
    return any(is_tensor(var) for call in calls if isinstance(call, Call) for var in variables(call))


def _are_disjoint(a: TensorRegion, b: TensorRegion) -> bool:
    if not a.source.same_as(b.source) or len(a.region) != len(b.region):
        return False
    for mine, other in zip(a.region, b.region, strict=True):
        distance = constant(Analyzer().simplify(mine.min - other.min))
        size, other_size = constant(mine.extent), constant(other.extent)
        if distance is None or size is None or other_size is None:
            continue
        if distance >= other_size or -distance >= size:
            return True
    return False


def _repeating_loop(region: TensorRegion, kernel: Stmt) -> str | None:
    """A loop around the copy on which its place does not depend; None where there is none."""
    values = {bind.var: bind.value for bind in collect(kernel, Bind)}
    used: set[Var] = set()
    pending = list(variables(region))
    while pending:
        var = pending.pop()
        if var not in used:
            used.add(var)
            pending += variables(values[var]) if var in values else []
    for loop in collect(kernel, For, While):
        stores = [r for node in collect(loop, Evaluate) for r in _written(as_tile_call(node))]
        if not any(structural_equal(other, region) for other in stores):
            continue
        if isinstance(loop, While):
            changes = {store.buffer for store in collect(loop, BufferStore)}
            if not used & (changes | {bind.var for bind in collect(loop, Bind)}):
                return "a while loop"
        elif loop.kind == ForKind.SERIAL and constant(loop.extent) != 1 and loop.loop_var not in used:
            inner = {bind.var for bind in collect(loop, Bind)} | {store.buffer for store in collect(loop, BufferStore)}
            if not used & inner:
                return str(loop.loop_var.name)
    return None
