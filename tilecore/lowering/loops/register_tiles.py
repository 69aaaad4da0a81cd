"""The sizes of register tiles of gemm, and the division of a matrix into tiles."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.layout import BufferLayout, of_each_tile, padded_rows
from tilecore.ir.nodes import Var
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.loops.prefetch import LINE
from tilecore.lowering.tile_ops.gemm import Operands

MOST_VECTORS = 16  # of a row of B that is read in place
CONFLICTING_BYTES = 1024  # rows that are a multiple of it apart share few sets of the first-level cache
WAY_BYTES = 4096  # of a first-level cache: 64 sets of lines of 64 bytes, as the offset in a page chooses the set
MOST_ROWS_OF_SET = 7  # of such a cache with 8 ways or more
INT16_PAIRS = "int16 pairs"  # the name of an implementation of gemm that multiplies pairs of them
SPARE_REGISTERS = 2  # for elements of A in all lanes
LEAST_VECTORS = 2  # of a row of a tile; tiles of fewer columns have no more rows than these


class TileShape(NamedTuple):
    """The largest tile of C that so many registers hold: rows, and vectors of so many lanes."""

    rows: int
    vectors: int
    lanes: int
    registers: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    def rows_of(self, columns: int) -> int:
        """The rows of a tile of so many columns: more where it is narrower."""
        return max(self.rows, most_rows(self.registers, -(-columns // self.lanes)))


def most_rows(registers: int, vectors: int) -> int:
    """The rows of a register tile of so many vectors a row: the registers also hold a row of B, and A's elements."""
    vectors = max(vectors, LEAST_VECTORS)
    return (registers - vectors - SPARE_REGISTERS) // vectors


class Piece(NamedTuple):
    """``count`` steps of ``width`` from ``start`` on."""

    start: int
    count: int  # type: ignore[assignment]  # tuples have a method of this name
    width: int


def vector_bits(env: PassEnv) -> int:
    """Width of the target's vector registers in bits."""
    return int(env.target.get("vector_bits", 128) or 128)


def is_in_place(call: TileCall, operand: str) -> bool:
    """Is the operand ``a``, ``b`` or ``c`` of a gemm a part of a tensor, inside its bounds, rather than a copy of it
    (read_in_place.py, accumulate_in_place.py)?"""
    return operand in str(call.hints.get(CallAttr.IN_PLACE, ""))


def is_copied_in_passing(call: TileCall, operand: str) -> bool:
    """Is the operand ``b`` of a gemm a part of a tensor, of which the gemm itself makes the copy that it reads
    (copy_in_passing.py)?"""
    return operand in str(call.hints.get(CallAttr.IN_PASSING, ""))


def is_hoisted(call: TileCall, operand: str) -> bool:
    """Does the operand ``a`` or ``b`` of a gemm lie among tiles that were copied beforehand (hoist_copies.py)?"""
    return operand in str(call.hints.get(CallAttr.HOISTED, ""))


def tile_shape(call: TileCall, env: PassEnv) -> TileShape:
    """As many vectors wide as the target's fact ``tile_vectors`` says, as B's panels are. Where B is read in place, few
    rows leave registers for more vectors, whose elements lie side by side."""
    registers = registers_of(env)
    operands = Operands(call)
    lanes = max(1, vector_bits(env) // DType(operands.total).bits)
    if not is_in_place(call, "b"):
        vectors = int(env.target.get("tile_vectors", LEAST_VECTORS) or LEAST_VECTORS)
        if operands.n > 0:
            vectors = min(vectors, max(LEAST_VECTORS, -(-operands.n // lanes)))
        return TileShape(most_rows(registers, vectors), vectors, lanes, registers)
    rows = balanced(operands.m, most_rows(registers, LEAST_VECTORS))
    accumulators = registers - LEAST_VECTORS - SPARE_REGISTERS
    vectors = min(accumulators // rows, MOST_VECTORS, max(1, operands.n // lanes))
    return TileShape(rows, max(1, vectors), lanes, registers)


def registers_of(env: PassEnv) -> int:
    """The number of the target's vector registers."""
    return 32 if vector_bits(env) >= 512 else 16


def rows_apart(buffer: Var) -> BufferLayout:
    """The layout of matrices [..., rows, columns] row by row, with a line more a row where rows would else share few
    sets of the first-level cache."""
    *numbers, rows, columns = (int(size) for size in buffer.shape)
    element = DType(dtype_of(buffer)).bytes
    more = LINE // element if rows > 1 and columns * element % CONFLICTING_BYTES == 0 else 0
    return of_each_tile(padded_rows([rows, columns], columns + more), numbers)


def rows_share_sets(buffer: Var, rows: int) -> bool:
    """May more than ``MOST_ROWS_OF_SET`` of ``rows`` successive rows of the buffer lie in one set of the first-level
    cache? Its lines at a distance of ``WAY_BYTES`` do."""
    columns = constant(buffer.shape[-1])
    if columns is None:
        return True
    pitch = columns * DType(dtype_of(buffer)).bits // 8
    return -(-rows * gcd(pitch, WAY_BYTES) // WAY_BYTES) > MOST_ROWS_OF_SET


def balanced(size: int, most: int) -> int:
    """The width of the pieces where ``size`` is divided into as few pieces of at most ``most`` as possible."""
    return max(1, -(-size // max(1, -(-size // most))))


def balanced_pieces(size: int, most: int) -> list[Piece]:
    """``size`` divided into as few pieces of at most ``most`` as possible: of one width and a remainder, or of two
    widths that differ by one where the remainder would be less than half as wide, as narrow tiles are slow."""
    width = balanced(size, most)
    rest, count = size % width, -(-size // width)
    if not rest or 2 * rest >= width:
        return pieces(size, width)
    wide = size - count * (width - 1)
    return [Piece(0, wide, width), Piece(wide * width, count - wide, width - 1)]


def pieces(size: int, step: int) -> list[Piece]:
    """``size`` divided into whole steps, then the remainder as one narrower piece."""
    whole = size // step
    cut = [Piece(0, whole, step)] if whole else []
    return [*cut, Piece(whole * step, 1, size % step)] if size % step else cut
