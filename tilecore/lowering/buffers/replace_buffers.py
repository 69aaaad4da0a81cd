"""Replaces tiles by slots of their circular buffers, in all loads, stores and regions."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import const, dtype_of
from tilecore.ir.nodes import (
    BufferLoad,
    BufferRegion,
    BufferStore,
    Evaluate,
    Range,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    structural_mutate,
)
from tilecore.ir.tile_ops import as_tile_call


def on_slot(part: Stmt, slots: dict[Var, Var], tiles: list[Var], slot: Any) -> Stmt:
    """``part`` with the tiles replaced by one slot of their circular buffers."""

    def load(node: TensorLoad, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        if rewritten.source not in tiles:
            return rewritten
        return BufferLoad(slots[rewritten.source], [slot, *rewritten.indices], span=node.span)

    def store(node: BufferStore, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        if rewritten.buffer not in tiles:
            return rewritten
        return BufferStore(slots[rewritten.buffer], rewritten.value, [slot, *rewritten.indices], span=node.span)

    def region(node: TensorRegion, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        if rewritten.source not in tiles:
            return rewritten
        slot_range = Range.from_min_extent(slot, const(1, dtype_of(slot)))
        return BufferRegion(slots[rewritten.source], [slot_range, *rewritten.region])

    def axis(node: Evaluate, mutator: Any) -> Any:
        """The slot is the new first axis, so a reduction or scan along axis d goes along axis d + 1."""
        rewritten, call = mutator.default_mutate(node), as_tile_call(node)
        if call is None or "dim" not in call.args or call.src.source not in tiles:
            return rewritten
        dim_position = call.op.operand_names().index("dim")
        args = list(rewritten.value.args)
        args[dim_position] = const(call.dim + 1, "int32")
        return as_tile_call(rewritten).rebuilt(args)  # type: ignore[union-attr]

    rules = [(TensorLoad, load), (BufferStore, store), (TensorRegion, region), (Evaluate, axis)]
    return structural_mutate(part, rules)
