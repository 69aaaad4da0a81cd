"""Where a warp's sums are kept: in C's own registers, or apart from them, to be added to C at the end.

Apart: C lies in shared memory, is a part of a fragment's memory, or has an element type that no instruction sums in.
"""

from __future__ import annotations

from typing import Any

from tile_cuda.lowering.product import Product
from tilecore.ir.build import cast, const, constant, dtype_of, load, loop, seq, store
from tilecore.ir.nodes import AllocBuffer, AttrStmt, Expr, ForKind, IfThenElse, Stmt, Var, tirx
from tilecore.ir.reductions import accumulator
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.insert_barriers import NEST


class Accumulators:
    """Of one warp. registers: what the instructions add to. first: is this warp the one, of several with the same part,
    that writes it? row, column: where the part begins."""

    def __init__(
        self, call: TileCall, product: Product, held: Var | None, lane: Expr, row: Any, column: Any, first: Expr | None
    ) -> None:
        self.call, self.p, self.held, self.lane = call, product, held, lane
        self.row, self.column, self.first = row, column, first
        self.each = product.shape.accumulator.registers
        self.count = product.m_tiles * product.n_tiles * self.each
        self.is_apart = held is None or dtype_of(held) != product.shape.c
        if self.is_apart:
            self.registers = tirx.decl_buffer([self.count], product.shape.c, "sums", scope="local", layout=None)
        else:
            assert held is not None
            self.registers = held

    def place(self, i: Any, j: Any) -> Expr:
        """The first sum of the instruction at (i, j)."""
        return load(self.registers, [(i * self.p.n_tiles + j) * self.each])

    def before(self) -> list[Stmt]:
        known = constant(self.call.clear_accum)
        if self.is_apart:
            return [AllocBuffer(self.registers), self._zeros()]
        if known == 0:
            return []
        return [self._zeros() if known else IfThenElse(self.call.clear_accum, self._zeros(), None)]

    def after(self) -> list[Stmt]:
        if not self.is_apart:
            return []
        made = self._to_registers() if self.held is not None else self._to_memory()
        return [AttrStmt(const(0, "int32"), NEST, const(1, "int32"), made, span=self.call.span)]

    def _zeros(self) -> Stmt:
        zero, count = tirx.const(0, self.p.shape.c), const(self.count, "int32")
        return loop(count, lambda i: store(self.registers, zero, [i]), kind=ForKind.UNROLLED)

    def _joined(self, buffer: Var, indices: list[Any], number: Any) -> Stmt:
        """``buffer[indices]`` with the sum of this number added, in the wider of the types."""
        dtype = dtype_of(buffer)
        wide = accumulator(dtype)
        total = cast(load(self.registers, [number]), wide)
        known = constant(self.call.clear_accum)
        if known != 1:
            old = cast(load(buffer, indices, self.call.span), wide)
            if known is None:
                old = tirx.if_then_else(self.call.clear_accum, tirx.const(0, wide), old)
            total = old + total
        return store(buffer, cast(total, dtype), indices, self.call.span)

    def _to_registers(self) -> Stmt:
        count = const(self.count, "int32")
        return loop(count, lambda i: self._joined(self.held, [i], i), kind=ForKind.UNROLLED)

    def _to_memory(self) -> Stmt:
        p = self.p

        def element(i: Any, j: Any, number: int) -> Stmt:
            row, column = p.shape.accumulator.indices(self.lane, number)
            m, n = self.row + i * p.shape.rows + row, self.column + j * p.shape.columns + column
            where = [r.min for r in self.call.c.region]
            where[-2], where[-1] = where[-2] + m, where[-1] + n
            made = self._joined(self.call.c.source, where, (i * p.n_tiles + j) * self.each + number)
            inside = [m < p.m] * p.m_overshoots + [n < p.n] * p.n_overshoots
            if not inside:
                return made
            return IfThenElse(tirx.all(*inside) if len(inside) > 1 else inside[0], made, None)

        def tile(i: Any, j: Any) -> Stmt:
            return seq([element(i, j, number) for number in range(self.each)])

        def row_of_tiles(i: Any) -> Stmt:
            return loop(const(p.n_tiles, "int32"), lambda j: tile(i, j), name="j", kind=ForKind.UNROLLED)

        made = loop(const(p.m_tiles, "int32"), row_of_tiles, name="i", kind=ForKind.UNROLLED)
        return made if self.first is None else IfThenElse(self.first, made, None)
