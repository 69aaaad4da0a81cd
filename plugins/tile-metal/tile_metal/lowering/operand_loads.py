"""Loads operands of matrix products by the lanes, in pieces of neighbours that lie side by side in a row of the tile.

Elements past the end of the tile are 0.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import const, loop, seq
from tilecore.ir.fragments import REGISTER, FragmentLayout
from tilecore.ir.nodes import BufferStore, For, ForKind, Stmt, Var
from tilecore.lowering.simt.matrix.operands import Operand
from tilecore.lowering.simt.matrix.word_loads import value_of


def run_of_lane(fragment: FragmentLayout, along_k: bool) -> tuple[int, int]:
    """The axis of a row of the tile, and how many neighbours along it follow one another in registers.

    fragment: of an instruction's part, as (across K, along K). along_k: whether rows of the tile are along K.
    """
    axis = 1 if along_k else 0
    digits = [d for d in fragment.digits if (d.where, d.axis, d.place, d.stride) == (REGISTER, axis, 1, 1)]
    return axis, digits[0].extent if digits else 1


def loads(operand: Operand, step: Any) -> Stmt:
    """Loads the operand of one step."""
    axis, run = run_of_lane(operand.fragment, operand.along_k)

    def tile(index: Any) -> Stmt:
        return seq([piece(operand, step, index, first, run, axis) for first in range(0, operand.elements, run)])

    name = "i" if operand.name == "a" else "j"
    return loop(const(operand.tiles, "int32"), tile, name=name, kind=ForKind.UNROLLED)


def piece(operand: Operand, step: Any, tile: Any, first: int, run: int, axis: int) -> Stmt:
    """Loads ``run`` elements, which are neighbours along ``axis``, to the registers from ``first`` on."""
    at = operand.fragment.indices(operand.lane, first)

    def element(e: Any) -> Stmt:
        across, along = (index + e if place == axis else index for place, index in enumerate(at))
        value = value_of(operand, operand.start + tile * operand.across + across, step * operand.depth + along)
        register = operand.register(step, tile, first + e)
        return BufferStore(register.source, value, list(register.indices), span=operand.span)

    if run == 1:
        return element(const(0, "int32"))
    var = Var("e", "int32")
    return For(var, const(0, "int32"), const(run, "int32"), ForKind.VECTORIZED, element(var))
