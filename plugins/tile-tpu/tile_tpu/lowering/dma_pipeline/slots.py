"""Local buffers with several slots, which consecutive iterations use in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tile_tpu.chips import Chip
from tile_tpu.ir.instructions import ELEMENT, SET_ELEMENT
from tile_tpu.ir.views import LOCAL, VIEW
from tilecore.dtypes import FACTS
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, nothing, op_name
from tilecore.ir.nodes import AllocBuffer, Call, IfThenElse, Stmt, Var, structural_mutate, tirx


@dataclass(frozen=True)
class Slots:
    """buffer: the buffer that contains all slots. step: the elements from one slot to the next."""

    buffer: Var
    step: int


def slots_of(tiles: Sequence[Var], count: int, chip: Chip, apart: bool) -> dict[Var, Slots]:
    """``count`` aligned slots for each tile. apart: no two slots share a bank."""
    slots = {}
    for tile in tiles:
        dtype = dtype_of(tile)
        unit = chip.bank_bytes // DType(dtype).bytes if apart else chip.eu_count(FACTS[dtype].bits)
        step = -(-int(tile.shape[0]) // unit) * unit
        buffer = tirx.decl_buffer([step * count], dtype, str(tile.name), scope=LOCAL, layout=None)
        slots[tile] = Slots(buffer, step)
    return slots


def on_slot(node: Stmt, slots: dict[Var, Slots], slot: Any) -> Stmt:
    """``node`` with its accesses to the tiles redirected to the slot with index ``slot``."""
    offset_positions = {VIEW: 2, ELEMENT: 2, SET_ELEMENT: 2}  # the position of the offset among the operands
    analyzer = Analyzer()

    def call(node: Call, mutator: Any) -> Any:
        mutated = mutator.default_mutate(node)
        position = offset_positions.get(op_name(mutated))
        tile_slots = slots.get(mutated.args[0]) if position is not None else None
        if position is None or tile_slots is None:
            return mutated
        args = list(mutated.args)
        args[0] = tile_slots.buffer
        args[position] = analyzer.simplify(args[position] + slot * const(tile_slots.step, dtype_of(slot)))
        return Call(mutated.op, args, attrs=mutated.attrs, ret_ty=mutated.ty, span=mutated.span)

    return structural_mutate(node, [(Call, call)])


def simplified(node: Stmt) -> Stmt:
    """``node`` with the numbers of its views, and its conditions, simplified."""
    analyzer = Analyzer()

    def call(node: Call, mutator: Any) -> Any:
        if op_name(node) != VIEW:
            return mutator.default_mutate(node)
        numbers = [analyzer.simplify(number) for number in node.args[1:]]
        return Call(node.op, [node.args[0], *numbers], attrs=node.attrs, ret_ty=node.ty, span=node.span)

    def branch(node: IfThenElse, mutator: Any) -> Any:
        condition = analyzer.simplify(node.condition)
        then = mutator.mutate(node.then_case)
        other = None if node.else_case is None else mutator.mutate(node.else_case)
        if constant(condition) is not None:
            return then if constant(condition) else (nothing() if other is None else other)
        return IfThenElse(condition, then, other, span=node.span)

    return structural_mutate(node, [(Call, call), (IfThenElse, branch)])


def without_allocations(body: Stmt, gone: set[Var]) -> Stmt:
    def alloc(node: AllocBuffer, mutator: Any) -> Any:
        return nothing() if node.buffer in gone else node

    return structural_mutate(body, [(AllocBuffer, alloc)])
