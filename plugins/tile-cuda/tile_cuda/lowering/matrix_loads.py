"""Operands by ``ldmatrix``: pieces of 8 rows of 16 bytes, of which lane l gets the word l % 4 of row l / 4.

PTX ISA, "Warp-level matrix load instruction: ldmatrix": lane l names row l % 8 of piece l / 8. These are the words of A
and B where rows run along K, whatever the element type. Where rows run across K the pieces are turned (``.trans``),
which there is for elements of 16 bits.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.operands import Operand
from tile_cuda.lowering.swizzle import PIECE, keeps_pieces
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, load, loop, seq
from tilecore.ir.nodes import ForKind, Stmt, tirx

MOST = 4  # pieces of one instruction


def fits(operand: Operand, arch: int) -> bool:
    """Can whole steps of the operand be loaded so?"""
    bits = DType(operand.dtype).bits
    if arch < 75 or bits > 32:
        return False
    if not operand.along_k and (bits != 16 or (operand.across_overshoots and operand.size % 8)):
        return False
    each = PIECE * 8 // bits
    first = operand.region.region[-1].min
    aligned = constant(Analyzer().simplify(first % const(each, "int32"))) == 0
    return aligned and keeps_pieces(operand.region.source, operand.layout)


def loads(operand: Operand, step: Any) -> Stmt:
    """All of the operand's part of a step. Rows past the end are read again from the last one: what is made of them is
    kept nowhere."""
    together = max(1, MOST // operand.words)  # tiles of one instruction
    whole, rest = divmod(operand.tiles, together)
    instructions_of_step = []
    if whole:
        instructions_of_step.append(
            loop(
                const(whole, "int32"),
                lambda n: _tiles(operand, step, n * together, together),
                name="i" if operand.name == "a" else "j",
                kind=ForKind.UNROLLED,
            )
        )
    done = whole * together
    while rest:  # 3 of 4: two, then one
        count = 2 if rest >= 2 else 1
        instructions_of_step.append(_tiles(operand, step, const(done, "int32"), count))
        done, rest = done + count, rest - count
    return seq(instructions_of_step)


def _tiles(operand: Operand, step: Any, tile: Any, count: int) -> Stmt:
    """``count`` tiles from number ``tile`` on, by one instruction: of each the pieces across K, then along it."""
    pieces = operand.words * count
    number, row = operand.lane // 8, operand.lane % 8
    across_pieces = operand.across // 8
    if pieces == 1:
        number = const(0, "int32")
    elif pieces == 2:
        number = number % 2
    in_tile = number % operand.words if count > 1 else number
    across = operand.start + tile * operand.across + in_tile % across_pieces * 8
    if count > 1:
        across = across + number // operand.words * operand.across
    along = step * operand.depth
    if operand.words > across_pieces:
        along = along + in_tile // across_pieces * (operand.depth * across_pieces // operand.words)
    if operand.along_k:
        across = _inside(operand, across + row, 1)
    else:
        across, along = _inside(operand, across, 8), along + row
    element = load(operand.region.source, operand.place(across, along), operand.span)
    return instructions.ldmatrix(operand.register(step, tile), element, pieces, not operand.along_k, operand.span)


def _inside(operand: Operand, across: Any, count: int) -> Any:
    """``across``, or the last place of ``count`` elements where it lies past the end."""
    if not operand.across_overshoots:
        return across
    return tirx.min(across, const(operand.size - count, "int32"))
