"""Lowers gemm to register tiles: each step along K broadcasts elements of A, loads vectors of B, and updates C.

The tile of C has ROWS rows, and two native vectors of columns. With 8 x 32 float32 elements and 512-bit vectors LLVM
holds all 16 accumulators in registers, and emits only fused multiply-adds, broadcasts and two loads
(docs/notes/cpu.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, load, loop, seq, store
from tilecore.ir.contraction import multiplied_into
from tilecore.ir.layout import BufferLayout, column_panels, row_panels
from tilecore.ir.nodes import AllocBuffer, ForKind, IntImm, Stmt, tirx
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.loops.prefetch import portion
from tilecore.lowering.tile_ops.gemm import Operands, needs_constant_sizes

ROWS = 8


def vector_bits(env: PassEnv) -> int:
    """Width of the target's vector registers in bits."""
    return int(env.target.get("vector_bits", 128) or 128)


def panel_width(operands: Operands, env: PassEnv) -> int:
    """Columns of a register tile: two native vectors."""
    return 2 * max(1, vector_bits(env) // DType(operands.total).bits)


def requested_layouts(call: TileCall, env: PassEnv) -> dict[Any, BufferLayout]:
    """B in panels as wide as a register tile, so that its elements are read in the order of their addresses.

    In the declared layout, the rows of a tile whose width is a power of two would also map to the same few cache sets.
    """
    buffer = call.b.source
    if len(buffer.shape) != 2 or is_global(buffer):
        return {}
    rows, columns = (int(s) for s in buffer.shape)
    width = panel_width(Operands(call), env)
    return {buffer: (row_panels if call.transpose_b else column_panels)(rows, columns, width)}


def lower_gemm(call: TileCall, env: PassEnv) -> Stmt:
    operands = Operands(call)
    width = panel_width(operands, env)
    tiles = [
        _tiles(operands, rows, columns) for columns in pieces(operands.n, width) for rows in pieces(operands.m, ROWS)
    ]
    return seq(tiles)


class Piece(NamedTuple):
    """``count`` steps of ``width`` from ``start`` on."""

    start: int
    count: int  # type: ignore[assignment]  # tuples have a method of this name
    width: int


def pieces(size: int, step: int) -> list[Piece]:
    """``size`` divided into whole steps, then the remainder as one narrower piece."""
    whole = size // step
    cut = [Piece(0, whole, step)] if whole else []
    return [*cut, Piece(whole * step, 1, size % step)] if size % step else cut


def _tiles(operands: Operands, rows: Piece, columns: Piece) -> Stmt:
    """All register tiles of one size."""

    def tile(mi: Any, ni: Any) -> Stmt:
        m0, n0 = rows.start + mi * rows.width, columns.start + ni * columns.width
        work = _register_tile(operands, m0, n0, rows.width, columns.width)
        if rows.start or columns.start:
            return work
        return seq([*portion(operands.call, ni * rows.count + mi, rows.count * columns.count), work])

    def row_of_tiles(ni: Any) -> Stmt:
        return loop(IntImm("int32", rows.count), lambda mi: tile(mi, ni), name="mi")

    return loop(IntImm("int32", columns.count), row_of_tiles, name="ni")


def _register_tile(operands: Operands, m0: Any, n0: Any, mr: int, nr: int) -> Stmt:
    call = operands.call
    acc = tirx.decl_buffer([mr, nr], operands.total, "acc", scope="local", layout=None)

    def over_tile(body: Any) -> Stmt:
        def row(i: Any) -> Stmt:
            return loop(IntImm("int32", nr), lambda j: body(i, j), name="j", kind=ForKind.VECTORIZED)

        return loop(IntImm("int32", mr), row, name="i", kind=ForKind.UNROLLED)

    def initial(i: Any, j: Any) -> Stmt:
        zero, old = tirx.const(0, operands.total), operands.c(m0 + i, n0 + j)
        clear_accum = constant(call.clear_accum)
        if clear_accum is None:
            return store(acc, tirx.if_then_else(call.clear_accum, zero, old), [i, j], call.span)
        return store(acc, zero if clear_accum else old, [i, j], call.span)

    def step(k: Any) -> Stmt:
        def multiply(i: Any, j: Any) -> Stmt:
            total = multiplied_into(load(acc, [i, j]), operands.a(m0 + i, k), operands.b(k, n0 + j))
            return store(acc, total, [i, j], call.span)

        return over_tile(multiply)

    def write_back(i: Any, j: Any) -> Stmt:
        return operands.store_c(m0 + i, n0 + j, load(acc, [i, j]))

    return seq(
        [AllocBuffer(acc), over_tile(initial), loop(IntImm("int32", operands.k), step, name="k"), over_tile(write_back)]
    )


IMPLEMENTATIONS = (TileOpImpl("gemm", "register tile", lower_gemm, needs_constant_sizes, layouts=requested_layouts),)
