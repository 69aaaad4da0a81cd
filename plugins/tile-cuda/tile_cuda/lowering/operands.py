"""How a warp brings the operands of a step from shared memory to registers.

``ldmatrix`` (PTX ISA, 9.7.15.5.15) reads tiles of 8 rows of 16 bytes, lane l naming row l % 8 of tile l / 8, and gives
lane l the word l % 4 of row l / 4: the fragments of A and B where rows run along K, of any element type. Where they run
across K it turns the tiles (``.trans``), for elements of 16 bits.

Two sets of registers take turns, so that one step's operands may be loaded while the step before is multiplied.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.product import Product
from tile_cuda.lowering.shapes import COLUMNS
from tilecore.ir.build import const, load, loop, seq
from tilecore.ir.nodes import Expr, ForKind, Stmt, TensorRegion, tirx
from tilecore.ir.tile_ops import TileCall

SETS = 2


class OperandLoader:
    """The registers of A and B of a warp's part, and the statements that fill them.

    lane: the thread's number in its warp. row, column: where the warp's part of C begins.
    """

    def __init__(self, call: TileCall, product: Product, lane: Expr, row: Any, column: Any) -> None:
        self.call, self.p, self.lane, self.row, self.column = call, product, lane, row, column
        shape = product.shape
        sets = min(SETS, product.steps)
        self.sets = sets
        self.a_set, self.b_set = product.m_tiles * shape.a_elements, product.n_tiles * shape.b_elements
        self.a = tirx.decl_buffer([sets * self.a_set], shape.a, "a", scope="local", layout=None)
        self.b = tirx.decl_buffer([sets * self.b_set], shape.b, "b", scope="local", layout=None)

    def register_a(self, step: Any, tile: Any) -> Expr:
        """The first register of A's tile number ``tile`` of a step."""
        return load(self.a, [self._set(step) * self.a_set + tile * self.p.shape.a_elements])

    def register_b(self, step: Any, tile: Any) -> Expr:
        return load(self.b, [self._set(step) * self.b_set + tile * self.p.shape.b_elements])

    def _set(self, step: Any) -> Any:
        return step % self.sets if self.sets > 1 else const(0, "int32")

    def load_a(self, step: Any) -> Stmt:
        """All of A of a step: tiles (rows 0-7, 8-15) x (first, second half along K), rows first."""
        lane, k, half = self.lane, step * self.p.shape.depth, self.p.shape.depth // 2
        turned = bool(self.call.transpose_a)

        def tile(i: Any) -> Stmt:
            row = self.row + i * self.p.shape.rows
            if turned:  # [K, M]
                at = (k + lane % 8 + lane // 16 * 8, row + lane // 8 % 2 * 8)
            else:
                at = (row + lane % 16, k + lane // 16 * half)
            return self._ldmatrix(self.register_a(step, i), self.call.a, at, turned, 4)

        return loop(const(self.p.m_tiles, "int32"), tile, name="i", kind=ForKind.UNROLLED)

    def load_b(self, step: Any) -> Stmt:
        """All of B of a step, two tiles of 8 columns at once: tiles (first, second half along K) of one, then of the
        next."""
        pairs, rest = divmod(self.p.n_tiles, 2)
        made = []
        if pairs:
            made.append(
                loop(const(pairs, "int32"), lambda j: self._tiles_of_b(step, j * 2, 2), name="j", kind=ForKind.UNROLLED)
            )
        if rest:
            made.append(self._tiles_of_b(step, const(pairs * 2, "int32"), 1))
        return seq(made)

    def _tiles_of_b(self, step: Any, tile: Any, count: int) -> Stmt:
        k, half = step * self.p.shape.depth, self.p.shape.depth // 2
        part, inner = self.lane // 8, self.lane % 8
        column = self.column + tile * COLUMNS + (part // 2 * COLUMNS if count > 1 else 0)
        depth = k + part % 2 * half
        # [N, K]: a row holds neighbours along K, as the instruction wants them; [K, N] is read turned
        at = (column + inner, depth) if self.call.transpose_b else (depth + inner, column)
        return self._ldmatrix(self.register_b(step, tile), self.call.b, at, not self.call.transpose_b, 2 * count)

    def _ldmatrix(self, to: Expr, region: TensorRegion, at: tuple[Any, Any], turned: bool, tiles: int) -> Stmt:
        where: list[Any] = [r.min for r in region.region]
        where[-2], where[-1] = where[-2] + at[0], where[-1] + at[1]
        return instructions.ldmatrix(to, load(region.source, where, self.call.span), tiles, turned, self.call.span)
