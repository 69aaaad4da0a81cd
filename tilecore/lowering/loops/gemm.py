"""Lowers gemm to register tiles: each step along K broadcasts elements of A, loads vectors of B, and updates C.

The tile of C takes nearly all vector registers: where there are 32, 14 rows by two vectors or 6 by four, as the target
says, 6 by two where there are 16. LLVM then emits only fused multiply-adds, broadcasts and a row's loads a step. Both
operands are prefetched: B some steps ahead, of A the next line of each row (docs/notes/cpu.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import constant, dtype_of, load, loop, seq, store
from tilecore.ir.contraction import multiplied_into
from tilecore.ir.layout import BufferLayout, column_panels, of_each_tile, row_panels
from tilecore.ir.nodes import AllocBuffer, ForKind, IntImm, Stmt, TensorRegion, Var, tirx
from tilecore.ir.regions import element_indices
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.loops.prefetch import LINE, TargetPrefetches, portion, prefetch
from tilecore.lowering.loops.register_tiles import (
    LEAST_VECTORS,
    Piece,
    TileShape,
    balanced_pieces,
    is_copied_in_passing,
    is_hoisted,
    is_in_place,
    pieces,
    rows_apart,
    rows_share_sets,
    tile_shape,
)
from tilecore.lowering.tile_ops.gemm import Operands, needs_constant_sizes

VECTORS_AHEAD = 16  # that a prefetch of a panel of B in the second-level cache is ahead of its use
LEAST_STEPS = 64  # along K, for prefetches to be worth their cost
SMALL_ROWS = 28  # of A, up to which B is read in place: a copy costs as much as the products


def requested_layouts(call: TileCall, env: PassEnv) -> dict[Any, BufferLayout]:
    """B in panels as wide as a register tile, so that its elements are read in the order of their addresses. A with
    rows some bytes longer where those of a tile would otherwise map to the same few sets of the cache."""
    layouts: dict[Any, BufferLayout] = {}
    if not is_in_place(call, "b") and not is_copied_in_passing(call, "b"):
        *tiles, rows, columns = (int(size) for size in call.b.source.shape)
        panels = row_panels if call.transpose_b else column_panels
        layouts[call.b.source] = of_each_tile(panels(rows, columns, tile_shape(call, env).columns), tiles)
    if not is_in_place(call, "a") and not call.transpose_a:
        layout = rows_apart(call.a.source)
        if layout.shape != tuple(int(size) for size in call.a.source.shape):
            layouts.setdefault(call.a.source, layout)
    return layouts


def operands_in_place(call: TileCall, env: PassEnv) -> frozenset[str]:
    """A is read from the tensor itself where the rows of a register tile do not share few sets of the first-level
    cache, and B where A has few rows."""
    operands, shape = Operands(call), tile_shape(call, env)
    names = set()
    if 0 < operands.m <= SMALL_ROWS and not call.transpose_b and operands.n >= shape.lanes:
        names.add("b")
    a = call.a.source
    if dtype_of(a) == operands.total and not call.transpose_a and not rows_share_sets(a, min(shape.rows, operands.m)):
        names.add("a")
    return frozenset(names)


def copies_in_passing(call: TileCall, env: PassEnv) -> frozenset[str]:
    """B: the first tile of each column of tiles reads the tensor, and stores the panel that the others read."""
    rows_of_tiles = -(-Operands(call).m // tile_shape(call, env).rows)
    return frozenset("b") if rows_of_tiles > 1 and not call.transpose_b else frozenset()


def lower_gemm(call: TileCall, env: PassEnv) -> Stmt:
    return _RegisterTiles(call, tile_shape(call, env), env.state(TargetPrefetches).possible).lower()


class _Tile(NamedTuple):
    """One register tile: its first row and column, its size, its number among the ``tiles`` of its column that fetch
    the next panel of B, 0 where others do, and the first row and column of the tile after it. makes, reads: the panel
    [K, columns] that it copies B to, and the one that it reads instead of B; None where there is none."""

    m0: Any
    n0: Any
    rows: int
    columns: int
    mi: Any
    tiles: int
    after: tuple[Any, Any]
    makes: Var | None = None
    reads: Var | None = None


class _RegisterTiles:
    """Lowers one gemm."""

    def __init__(self, call: TileCall, shape: TileShape, prefetches: bool) -> None:
        self.call = call
        self.shape = shape
        self.prefetches = prefetches
        self.steps_ahead = VECTORS_AHEAD // min(shape.vectors, VECTORS_AHEAD)
        self.operands = Operands(call)

    def lower(self) -> Stmt:
        return seq([self._columns_of_tiles(columns) for columns in pieces(self.operands.n, self.shape.columns)])

    def _columns_of_tiles(self, columns: Piece) -> Stmt:
        """The tiles of all rows for one panel of B after the other, which stays in the caches meanwhile."""
        by_rows = balanced_pieces(self.operands.m, self.shape.rows_of(columns.width))
        panel, before = None, []
        if is_copied_in_passing(self.call, "b"):
            shape = [self.operands.k, columns.width]
            panel = tirx.decl_buffer(shape, self.operands.total, "panel", scope="shared", layout=None)
            before = [AllocBuffer(panel)]

        def column(ni: Any) -> Stmt:
            return seq([self._tiles(rows, columns, ni, panel, rows is by_rows[-1]) for rows in by_rows])

        return seq([*before, loop(IntImm("int32", columns.count), column, name="ni")])

    def _tiles(self, rows: Piece, columns: Piece, ni: Any, panel: Var | None, ends: bool) -> Stmt:
        """The tiles of one height in column ``ni`` of tiles. The first of all makes the panel, if there is one. ends:
        whether the column ends with them."""

        def tile(mi: Any, makes: Var | None, reads: Var | None) -> Stmt:
            m0, n0 = rows.start + mi * rows.width, columns.start + ni * columns.width
            is_last = tirx.EQ(mi, rows.count - 1) if ends else tirx.const(0, "bool")
            after = (
                tirx.Select(is_last, IntImm("int32", 0), m0 + rows.width),
                tirx.Select(is_last, n0 + columns.width, n0),
            )
            fetching = 0 if rows.start else rows.count
            work = self._tile(_Tile(m0, n0, rows.width, columns.width, mi, fetching, after, makes, reads))
            if rows.start or columns.start:
                return work
            return seq([*portion(self.call, ni * rows.count + mi, rows.count * columns.count), work])

        if panel is None or rows.start:
            return loop(IntImm("int32", rows.count), lambda mi: tile(mi, None, panel), name="mi")
        first, others = IntImm("int32", 0), IntImm("int32", rows.count - 1)
        return seq([tile(first, panel, None), loop(others, lambda mi: tile(mi + 1, None, panel), name="mi")])

    def _tile(self, tile: _Tile) -> Stmt:
        operands, call = self.operands, self.call
        m0, n0, mr, nr = tile.m0, tile.n0, tile.rows, tile.columns
        acc = tirx.decl_buffer([mr, nr], operands.total, "acc", scope="local", layout=None)

        def initial(i: Any, j: Any) -> Stmt:
            zero, old = tirx.const(0, operands.total), operands.c(m0 + i, n0 + j)
            if CallAttr.ROW_FACTORS in call.hints:
                old = old * load(call.hints[CallAttr.ROW_FACTORS].source, [m0 + i])
            clear_accum = constant(call.clear_accum)
            if clear_accum is None:
                return store(acc, tirx.if_then_else(call.clear_accum, zero, old), [i, j], call.span)
            return store(acc, zero if clear_accum else old, [i, j], call.span)

        def step(k: Any) -> Stmt:
            def multiply(i: Any, j: Any) -> Stmt:
                b = operands.b(k, n0 + j) if tile.reads is None else load(tile.reads, [k, j])
                total = multiplied_into(load(acc, [i, j]), operands.a(m0 + i, k), b)
                return store(acc, total, [i, j], call.span)

            def copy(i: Any, j: Any) -> Stmt:
                return store(tile.makes, operands.b(k, n0 + j), [k, j], call.span)

            copied = [] if tile.makes is None else [self._over_tile(1, nr, copy)]
            return seq([*copied, self._over_tile(mr, nr, multiply)])

        def write_back(i: Any, j: Any) -> Stmt:
            return operands.store_c(m0 + i, n0 + j, load(acc, [i, j]))

        return seq(
            [
                AllocBuffer(acc),
                self._over_tile(mr, nr, initial),
                self._steps(step, tile),
                self._over_tile(mr, nr, write_back),
            ]
        )

    def _over_tile(self, mr: int, nr: int, body: Any) -> Stmt:
        """``body(i, j)`` for each element of a register tile: rows and vectors unrolled, lanes of a vector at once."""

        def row(i: Any) -> Stmt:
            def vectors(piece: Piece) -> Stmt:
                def vector(number: Any) -> Stmt:
                    start = piece.start + number * piece.width
                    lanes = IntImm("int32", piece.width)
                    return loop(lanes, lambda j: body(i, start + j), name="j", kind=ForKind.VECTORIZED)

                return loop(IntImm("int32", piece.count), vector, name="v", kind=ForKind.UNROLLED)

            return seq([vectors(piece) for piece in pieces(nr, self.shape.lanes)])

        return loop(IntImm("int32", mr), row, name="i", kind=ForKind.UNROLLED)

    # -- along K ----------------------------------------------------------------------------------------------

    def _steps(self, step: Any, tile: _Tile) -> Stmt:
        """All steps along K. Those that read one line of each row of A form a group, which fetches the next lines."""
        count, a = self.operands.k, DType(dtype_of(self.call.a.source))
        if not self.prefetches:
            return loop(IntImm("int32", count), step, name="k")
        group = LINE // a.bytes if a.bits >= 8 else 1
        if count < LEAST_STEPS or group < 2 or is_in_place(self.call, "b"):  # rows of a tensor: the processor sees them
            return seq([*self._prefetch_c(tile), loop(IntImm("int32", count), step, name="k")])

        def steps_of_line(line: Any) -> Stmt:
            def one(k: Any) -> Stmt:
                return seq([*self._prefetch_b(line * group + k, tile), step(line * group + k)])

            ahead = [*self._prefetch_a(tile, (line + 1) * group), *self._prefetch_panel(tile, line, group)]
            return seq([*ahead, loop(IntImm("int32", group), one, name="k")])

        whole, rest = divmod(count, group)
        parts = [*self._prefetch_c(tile), loop(IntImm("int32", whole), steps_of_line, name="line")]
        if rest:
            parts.append(loop(IntImm("int32", rest), lambda k: step(whole * group + k), name="k"))
        return seq(parts)

    def _prefetch_a(self, tile: _Tile, k: Any) -> list[Stmt]:
        if self.call.transpose_a:
            return []
        return [self._ahead(self.call.a, tile.m0 + row, k) for row in range(tile.rows)]

    def _prefetch_b(self, k: Any, tile: _Tile) -> list[Stmt]:
        if tile.reads is not None:
            columns = range(0, tile.columns, max(1, LINE // DType(self.operands.total).bytes))
            return [prefetch(tile.reads, [k + self.steps_ahead, IntImm("int32", j)], 1) for j in columns]
        return self._lines_of_b(k + self.steps_ahead, tile.n0, tile, 1)

    def _prefetch_panel(self, tile: _Tile, line: Any, group: int) -> list[Stmt]:
        """A part of the next panel of B, to the second-level cache: the tiles of one column fetch all of it together.
        It comes from the last cache, whose bandwidth the first tile of a panel would wait for. Long rows of a tensor
        the processor fetches itself."""
        in_passing = is_copied_in_passing(self.call, "b") and self.shape.vectors <= LEAST_VECTORS
        if not tile.tiles or not (is_hoisted(self.call, "b") or in_passing):
            return []
        number = tile.mi * (self.operands.k // group) + line
        first = tirx.floordiv(number * group, tile.tiles)
        rows = -(-group // tile.tiles)
        return [part for k in range(rows) for part in self._lines_of_b(first + k, tile.n0 + tile.columns, tile, 2)]

    def _prefetch_c(self, tile: _Tile) -> list[Stmt]:
        """Where C is a tensor, the lines of the tile after this one: the products of few steps take less time than a
        line from the last cache or the memory."""
        if not is_in_place(self.call, "c"):
            return []
        elements = LINE // DType(dtype_of(self.call.c.source)).bytes
        m0, n0 = tile.after
        columns = range(0, tile.columns, elements)
        return [self._ahead(self.call.c, m0 + i, n0 + j, 2) for i in range(tile.rows) for j in columns]

    def _lines_of_b(self, k: Any, n0: Any, tile: _Tile, level: int) -> list[Stmt]:
        elements = max(1, LINE // DType(dtype_of(self.call.b.source)).bytes)
        columns = [*range(0, tile.columns, elements)]
        if is_copied_in_passing(self.call, "b") and int(self.call.b.source.shape[-1]) % elements:
            columns.append(tile.columns - 1)  # rows that begin within a line reach into one more
        at = [(n0 + j, k) if self.call.transpose_b else (k, n0 + j) for j in columns]
        return [self._ahead(self.call.b, row, column, level) for row, column in at]

    def _ahead(self, region: TensorRegion, row: Any, column: Any, level: int = 1) -> Stmt:
        return prefetch(region.source, element_indices(region, row, column), level)


REGISTER_TILES = TileOpImpl(
    "gemm",
    "register tile",
    lower_gemm,
    needs_constant_sizes,
    layouts=requested_layouts,
    in_place=operands_in_place,
    copies_in_passing=copies_in_passing,
    leaves=(TargetPrefetches,),  # without plan_prefetches there are none
)
IMPLEMENTATIONS = (REGISTER_TILES,)
