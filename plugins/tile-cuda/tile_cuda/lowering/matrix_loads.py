"""Loads operands of mma.sync by ``ldmatrix``: matrices of 8 rows of 16 bytes, lane l receives word l % 4 of row l / 4.

PTX ISA, "Warp-level matrix load instruction: ldmatrix": lane l has the address of row l % 8 of matrix l / 8. These are
the words of the A and B fragments where rows are stored along K, for every element type. Where rows are stored across
K, ``.trans`` transposes the matrices; it supports elements of 16 bits only.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.swizzle import PIECE, keeps_pieces
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, load, loop, seq
from tilecore.ir.nodes import ForKind, Stmt, tirx
from tilecore.lowering.simt.matrix.operands import Operand

MOST = 4  # matrices of one instruction


def fits(operand: Operand, arch: int) -> bool:
    """Whether ``ldmatrix`` can load the operand of a whole step."""
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
    """Loads the operand of one step. Rows past the end are replaced by the last row; their results are not stored."""
    tiles_per_instruction = max(1, MOST // operand.words)
    whole, rest = divmod(operand.tiles, tiles_per_instruction)
    statements = []
    if whole:
        statements.append(
            loop(
                const(whole, "int32"),
                lambda n: _tiles(operand, step, n * tiles_per_instruction, tiles_per_instruction),
                name="i" if operand.name == "a" else "j",
                kind=ForKind.UNROLLED,
            )
        )
    next_tile = whole * tiles_per_instruction
    while rest:  # of 3 remaining tiles: two by one instruction, then one
        count = 2 if rest >= 2 else 1
        statements.append(_tiles(operand, step, const(next_tile, "int32"), count))
        next_tile, rest = next_tile + count, rest - count
    return seq(statements)


def _tiles(operand: Operand, step: Any, tile: Any, count: int) -> Stmt:
    """Loads ``count`` tiles from index ``tile`` on by one instruction: of each the matrices across K, then along K."""
    matrices = operand.words * count
    matrix, row = operand.lane // 8, operand.lane % 8
    matrices_across = operand.across // 8
    if matrices == 1:
        matrix = const(0, "int32")
    elif matrices == 2:
        matrix = matrix % 2
    in_tile = matrix % operand.words if count > 1 else matrix
    across = operand.start + tile * operand.across + in_tile % matrices_across * 8
    if count > 1:
        across = across + matrix // operand.words * operand.across
    along = step * operand.depth
    if operand.words > matrices_across:
        along = along + in_tile // matrices_across * (operand.depth * matrices_across // operand.words)
    if operand.along_k:
        across = _clamped(operand, across + row, 1)
    else:
        across, along = _clamped(operand, across, 8), along + row
    element = load(operand.region.source, operand.indices(across, along), operand.span)
    return instructions.ldmatrix(operand.register(step, tile), element, matrices, not operand.along_k, operand.span)


def _clamped(operand: Operand, across: Any, count: int) -> Any:
    """The index ``across``, clamped so that ``count`` elements from it on lie in the operand."""
    if not operand.across_overshoots:
        return across
    return tirx.min(across, const(operand.size - count, "int32"))
