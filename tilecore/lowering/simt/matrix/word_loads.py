"""Loads operands of matrix instructions by the threads.

A thread loads word by word where neighbours along K are contiguous, else element by element. Elements past the end of
the tile are 0.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, const, constant, dtype_of, load, loop, seq
from tilecore.ir.nodes import BufferStore, Expr, For, ForKind, Stmt, Var, tirx
from tilecore.lowering.simt.matrix.operands import Operand


def loads(operand: Operand, step: Any) -> Stmt:
    """Loads the operand of one step."""

    def tile(index: Any) -> Stmt:
        return seq([_word(operand, step, index, word) for word in range(operand.words)])

    name = "i" if operand.name == "a" else "j"
    return loop(const(operand.tiles, "int32"), tile, name=name, kind=ForKind.UNROLLED)


def _word(operand: Operand, step: Any, tile: Any, word: int) -> Stmt:
    """Loads one word of a lane."""
    first_across, first_along = operand.fragment.indices(operand.lane, word * operand.word)

    def element(offset: Any) -> Stmt:
        across = operand.start + tile * operand.across + first_across
        along = step * operand.depth + first_along + offset
        register = operand.register(step, tile, word * operand.word + offset)
        return BufferStore(register.source, value_of(operand, across, along), list(register.indices), span=operand.span)

    if operand.word == 1:
        return element(const(0, "int32"))
    var = Var("e", "int32")
    kind = ForKind.VECTORIZED if operand.along_k else ForKind.UNROLLED
    return For(var, const(0, "int32"), const(operand.word, "int32"), kind, element(var))


def value_of(operand: Operand, across: Any, along: Any) -> Expr:
    """The element at ``across`` across and ``along`` along K in the tile; 0 past its end."""
    conditions = []
    if operand.across_overshoots:
        conditions.append(across < const(operand.size, "int32"))
    if operand.k_overshoots and not _is_below(along, operand.k):
        conditions.append(along < const(operand.k, "int32"))
    value = load(operand.region.source, operand.indices(across, along), operand.span)
    return tirx.if_then_else(all_of(conditions), value, tirx.const(0, dtype_of(value))) if conditions else value


def _is_below(along: Any, k: int) -> bool:
    return constant(Analyzer().simplify(along < const(k, "int32"))) == 1
