"""Loads operands of matrix instructions that are stored by rows of K: neighbouring rows of A or columns of B.

Elements past the end of the tile are 0.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import const, loop, seq
from tilecore.ir.nodes import BufferStore, For, ForKind, Stmt, Var
from tilecore.lowering.simt.matrix.operands import Operand
from tilecore.lowering.simt.matrix.word_loads import value_of


def loads(operand: Operand, step: Any, count: int) -> Stmt:
    """Loads the operand of one step. count: the neighbouring elements of a lane."""

    def tile(index: Any) -> Stmt:
        rows = [_neighbours(operand, step, index, first, count) for first in range(0, operand.elements, count)]
        return seq(rows)

    name = "i" if operand.name == "a" else "j"
    return loop(const(operand.tiles, "int32"), tile, name=name, kind=ForKind.UNROLLED)


def _neighbours(operand: Operand, step: Any, tile: Any, first: int, count: int) -> Stmt:
    """Loads ``count`` elements from register ``first`` on."""
    first_across, first_along = operand.fragment.indices(operand.lane, first)
    var = Var("e", "int32")
    across = operand.start + tile * operand.across + first_across + var
    along = step * operand.depth + first_along
    register = operand.register(step, tile, first + var)
    store = BufferStore(register.source, value_of(operand, across, along), list(register.indices), span=operand.span)
    return For(var, const(0, "int32"), const(count, "int32"), ForKind.VECTORIZED, store)
