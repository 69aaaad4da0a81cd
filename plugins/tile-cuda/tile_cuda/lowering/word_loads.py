"""Operands element by element, neighbours along K together where they are neighbours in memory; zeros past the ends."""

from __future__ import annotations

from typing import Any

from tile_cuda.lowering.operands import Operand
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, const, constant, dtype_of, load, loop, seq
from tilecore.ir.nodes import BufferStore, Expr, For, ForKind, Stmt, Var, tirx


def loads(operand: Operand, step: Any) -> Stmt:
    """All of the operand's part of a step."""

    def tile(number: Any) -> Stmt:
        return seq([_word(operand, step, number, word) for word in range(operand.words)])

    name = "i" if operand.name == "a" else "j"
    return loop(const(operand.tiles, "int32"), tile, name=name, kind=ForKind.UNROLLED)


def _word(operand: Operand, step: Any, tile: Any, word: int) -> Stmt:
    """One word of a lane."""
    first_across, first_along = operand.held.indices(operand.lane, word * operand.word)

    def element(number: Any) -> Stmt:
        across = operand.start + tile * operand.across + first_across
        along = step * operand.depth + first_along + number
        place = operand.register(step, tile, word * operand.word + number)
        return BufferStore(place.source, _value(operand, across, along), list(place.indices), span=operand.span)

    if operand.word == 1:
        return element(const(0, "int32"))
    var = Var("e", "int32")
    kind = ForKind.VECTORIZED if operand.along_k else ForKind.UNROLLED
    return For(var, const(0, "int32"), const(operand.word, "int32"), kind, element(var))


def _value(operand: Operand, across: Any, along: Any) -> Expr:
    conditions = []
    if operand.across_overshoots:
        conditions.append(across < const(operand.size, "int32"))
    if operand.k_overshoots and not _is_inside(along, operand.k):
        conditions.append(along < const(operand.k, "int32"))
    value = load(operand.region.source, operand.place(across, along), operand.span)
    return tirx.if_then_else(all_of(conditions), value, tirx.const(0, dtype_of(value))) if conditions else value


def _is_inside(along: Any, k: int) -> bool:
    return constant(Analyzer().simplify(along < const(k, "int32"))) == 1
