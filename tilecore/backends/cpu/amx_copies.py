"""The copies of A and B that a gemm with tile registers makes for itself (amx_product.py), and loads from them.

panels: of B, where it is still a part of a tensor. chunk: of A, some steps along K of one strip. tails: of both, what K
has behind the last whole step, with zeros behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.backends.cpu.amx_operands import SIDE, STRIP, ZERO, Product, block_buffer
from tilecore.ir.build import dtype_of, load, loop, nest, store
from tilecore.ir.nodes import AllocBuffer, BufferLoad, ForKind, IntImm, Stmt, tirx
from tilecore.ir.regions import element_indices
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.loops.register_tiles import Piece, is_copied_in_passing
from tilecore.lowering.tile_ops.gemm import gemm_sizes


class Copies:
    """chunk_steps: steps of a chunk of A, 0 where A is read as it lies."""

    def __init__(self, call: TileCall, product: Product, chunk_steps: int) -> None:
        self.call, self.group = call, product.group
        self.step = product.step
        _, columns, depth = gemm_sizes(call)
        self.tail = depth % self.step
        self.whole = depth - self.tail
        a, b, panels = dtype_of(call.a.source), dtype_of(call.b.source), -(-columns // SIDE)
        self.panels = self.chunk = self.tail_a = self.tail_b = None
        if is_copied_in_passing(call, "b"):
            self.panels = block_buffer([panels, self.whole // self.group, SIDE, self.group], b, "panels")
        if chunk_steps:
            self.chunk = block_buffer([chunk_steps, STRIP, self.step], a, "chunk")
        if self.tail:
            self.tail_a = block_buffer([STRIP, self.step], a, "tail_a")
            self.tail_b = block_buffer([panels, SIDE, SIDE, self.group], b, "tail_b")

    def buffers(self) -> list[Stmt]:
        """Their allocations."""
        buffers = (self.panels, self.chunk, self.tail_a, self.tail_b)
        return [AllocBuffer(buffer) for buffer in buffers if buffer is not None]

    # -- the first elements of tiles ---------------------------------------------------------------------------

    def b(self, k: Any, n: Any) -> BufferLoad:
        if self.panels is None:
            at = (n, k) if self.call.transpose_b else (k, n)
            return BufferLoad(self.call.b.source, element_indices(self.call.b, *at))
        return BufferLoad(self.panels, [tirx.floordiv(n, SIDE), tirx.floordiv(k, self.group), ZERO, ZERO])

    def chunk_of_a(self, step: Any, row: int) -> BufferLoad:
        return BufferLoad(self.chunk, [step, IntImm("int32", row), ZERO])

    def tail_of_a(self, row: int) -> BufferLoad:
        return BufferLoad(self.tail_a, [IntImm("int32", row), ZERO])

    def tail_of_b(self, n: Any) -> BufferLoad:
        return BufferLoad(self.tail_b, [tirx.floordiv(n, SIDE), ZERO, ZERO, ZERO])

    # -- copies -----------------------------------------------------------------------------------------------

    def make_chunk(self, m0: Any, rows: int, k0: Any, step: Any) -> Stmt:
        """The elements of one step, of all rows of a strip."""
        return loop(
            IntImm("int32", rows), lambda i: self._row_of_a(m0, i, k0, self.step, self.chunk, [step, i]), name="i"
        )

    def make_tail_of_a(self, m0: Any, rows: int) -> list[Stmt]:
        """For each strip."""
        whole = IntImm("int32", self.whole)

        def row(i: Any) -> Stmt:
            return self._row_of_a(m0, i, whole, self.tail, self.tail_a, [i])

        return [_zeros(self.tail_a), loop(IntImm("int32", rows), row, name="i")] if self.tail else []

    def _row_of_a(self, m0: Any, i: Any, k0: Any, count: int, target: Any, where: list[Any]) -> Stmt:
        def element(j: Any) -> Stmt:
            value = load(self.call.a.source, element_indices(self.call.a, m0 + i, k0 + j), self.call.span)
            return store(target, value, [*where, j], self.call.span)

        return loop(IntImm("int32", count), element, name="j", kind=ForKind.VECTORIZED)

    def make_panels(self, k0: Any, n0: Any, width: int) -> list[Stmt]:
        """The rows of B of one step, in the columns of two panels; columns in parts of powers of two, of which
        interleave_rows.py makes vectors."""
        powers = [1 << bit for bit in reversed(range(width.bit_length())) if width >> bit & 1]
        firsts = [sum(powers[:number]) for number in range(len(powers))]
        return [
            self._interleaved(self.panels, k0, n0 + first, self.step, count, k0)
            for first, count in zip(firsts, powers, strict=True)
        ]

    def make_tail_of_b(self, by_columns: Sequence[Piece]) -> list[Stmt]:
        """Once for the gemm."""
        if not self.tail:
            return []
        statements = [_zeros(self.tail_b)]
        for columns in by_columns:

            def panel(ni: Any, columns: Piece = columns) -> Stmt:
                n0 = columns.start + ni * columns.width
                return self._interleaved(self.tail_b, self.whole, n0, self.tail, columns.width, ZERO)

            statements.append(loop(IntImm("int32", columns.count), panel, name="ni"))
        return statements

    def _interleaved(self, panels: Any, k0: Any, n0: Any, rows: int, columns: int, at: Any) -> Stmt:
        """``rows`` rows of B from ``k0`` and ``columns`` columns from ``n0``, as the rows from ``at`` of panels."""

        def element(indices: list[Any]) -> Stmt:
            k, n = indices
            of_b = (n0 + n, k0 + k) if self.call.transpose_b else (k0 + k, n0 + n)
            value = load(self.call.b.source, element_indices(self.call.b, *of_b), self.call.span)
            where = [tirx.floordiv(n0 + n, SIDE), tirx.floordiv(at + k, self.group)]
            inner = [tirx.floormod(n0 + n, SIDE), tirx.floormod(at + k, self.group)]
            return store(panels, value, [*where, *inner], self.call.span)

        return nest([IntImm("int32", rows), IntImm("int32", columns)], element)


def _zeros(buffer: Any) -> Stmt:
    """A buffer filled with zeros."""
    return nest(list(buffer.shape), lambda indices: store(buffer, tirx.const(0, dtype_of(buffer)), indices))
