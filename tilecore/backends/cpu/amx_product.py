"""The statements of a gemm with tile registers: the order of its products, and what it keeps in which cache.

Eight registers: 0 to 3 are 2 x 2 tiles of C, 4 and 5 two of A, 6 and 7 two of B. A strip of 32 rows of A is multiplied
with all of B before the next strip. Along K the strip is taken in chunks that stay in the first-level cache while all
panels of B pass, in a copy that the first panel makes, as rows of a tensor share few sets of that cache; between the
chunks the sums of the strip wait in memory that the second-level cache holds.

Where B is still a part of a tensor, the first strip interleaves its rows into the panels between its products, which
leave the vector units idle. What K has behind the last whole step is multiplied from copies with zeros behind it. Where
C is a part of a tensor of narrower floats, sums are rounded tile by tile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tilecore.backends.cpu import amx_calls as tiles
from tilecore.backends.cpu.amx_copies import Copies
from tilecore.backends.cpu.amx_operands import ROW_BYTES, SIDE, STRIP, halves, pitch, product_of_call
from tilecore.backends.cpu.amx_sums import Sums
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import loop, seq
from tilecore.ir.nodes import BufferLoad, IntImm, Stmt
from tilecore.ir.regions import element_indices
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.loops.prefetch import portion, prefetch
from tilecore.lowering.loops.register_tiles import Piece, balanced_pieces, is_in_place, pieces
from tilecore.lowering.tile_ops.gemm import gemm_sizes

MOST_ROWS_AHEAD = 4  # of the next strip, that one panel of B prefetches
STEPS_OF_CHUNK = 8  # of 64 bytes along K: 32 rows of A take 16 KiB, of a first-level cache of 48
LEAST_PANELS_OF_CHUNKS = 4  # of B, for which a strip of A is read again


@dataclass(frozen=True)
class _Steps:
    """Steps along K: the number of the first, how many, and whether they are the first and the last of all."""

    start: Any
    count: int
    first: bool
    last: bool


@dataclass(frozen=True)
class _Makes:
    """What the products of a tile copy while they run: the panels of B, the chunk of A; chunk: whether they read A from
    that copy."""

    panels: bool = False
    chunk_of_a: bool = False
    chunk: bool = False


class TileProduct:
    """Lowers one gemm."""

    def __init__(self, call: TileCall, env: PassEnv) -> None:
        product = product_of_call(call)
        assert product is not None
        self.call, self.product = call, product
        self.rows, self.columns, depth = gemm_sizes(call)
        self.steps = depth // product.step
        self.a_pitch = pitch(call, env, "a")
        panels = pieces(self.columns, STRIP)[0].count
        waits = sum(chunk.count for chunk in self._chunks(panels)) > 1
        self.copies = Copies(call, product, STEPS_OF_CHUNK if waits else 0)
        self.sums = Sums(call, env, waits, panels, self.steps)

    def lower(self) -> Stmt:
        by_columns = pieces(self.columns, STRIP)
        parts = [*self.copies.buffers(), *self.sums.buffers(), *self.copies.make_tail_of_b(by_columns)]
        for strips in pieces(self.rows, STRIP):
            for columns in by_columns:
                shapes = _shapes_of_registers(halves(strips.width), halves(columns.width))
                parts += [tiles.configure(*shapes), self._strips(strips, columns)]
        return seq([*parts, tiles.release()])

    def _chunks(self, panels: int) -> list[Piece]:
        """The steps along K, in chunks of one or two sizes."""
        if panels < LEAST_PANELS_OF_CHUNKS or self.steps < 2 * STEPS_OF_CHUNK:
            return [Piece(0, 1, self.steps)]
        return balanced_pieces(self.steps, STEPS_OF_CHUNK)

    def _strips(self, strips: Piece, columns: Piece) -> Stmt:
        """All strips of one height, times all panels of one width."""

        def strip(mi: Any, makes_panels: bool) -> Stmt:
            return self._strip(strips, columns, mi, makes_panels)

        if self.copies.panels is None or strips.start:
            return loop(IntImm("int32", strips.count), lambda mi: strip(mi, False), name="mi")
        others = loop(IntImm("int32", strips.count - 1), lambda mi: strip(mi + 1, False), name="mi")
        return seq([strip(IntImm("int32", 0), True), *([others] if strips.count > 1 else [])])

    def _strip(self, strips: Piece, columns: Piece, mi: Any, makes_panels: bool) -> Stmt:
        """One strip of A: for each chunk along K all panels."""

        def chunk(steps: _Steps) -> Stmt:
            def panel(ni: Any, makes: _Makes) -> Stmt:
                ahead = []
                if steps.first and not strips.start and not columns.start:
                    ahead = portion(self.call, mi * columns.count + ni, strips.count * columns.count)
                return seq([*ahead, self._tile(strips, columns, mi, ni, steps, makes)])

            if steps.first and steps.last:
                return loop(IntImm("int32", columns.count), lambda ni: panel(ni, _Makes(makes_panels)), name="ni")
            first = panel(IntImm("int32", 0), _Makes(makes_panels, True, True))
            reads = _Makes(makes_panels, chunk=True)
            return seq([first, loop(IntImm("int32", columns.count - 1), lambda ni: panel(ni + 1, reads), name="ni")])

        before = self.copies.make_tail_of_a(strips.start + mi * strips.width, strips.width)
        return seq([*before, *_over_chunks(self._chunks(columns.count), chunk)])

    # -- the products of 2 x 2 accumulators -------------------------------------------------------------------

    def _tile(self, strips: Piece, columns: Piece, mi: Any, ni: Any, steps: _Steps, makes: _Makes) -> Stmt:
        """Of some steps."""
        m0, n0 = strips.start + mi * strips.width, columns.start + ni * columns.width
        sums = [
            (i, j)
            for i, rows in enumerate(halves(strips.width))
            for j, width in enumerate(halves(columns.width))
            if rows and width
        ]

        def step(s: Any) -> Stmt:
            k = (steps.start + s) * self.product.step
            made = self.copies.make_panels(k, n0, columns.width) if makes.panels else []
            if makes.chunk_of_a:
                made.append(self.copies.make_chunk(m0, strips.width, k, s))

            def a(i: int) -> Stmt:
                if makes.chunk:
                    return tiles.load(4 + i, self.copies.chunk_of_a(s, i * SIDE), ROW_BYTES)
                element = BufferLoad(self.call.a.source, element_indices(self.call.a, m0 + i * SIDE, k))
                return tiles.load(4 + i, element, self.a_pitch)

            def b(j: int) -> Stmt:
                return tiles.load(6 + j, self.copies.b(k, n0 + j * SIDE), ROW_BYTES)

            return seq([*made, *self._next_strip(m0, strips, ni, k), *self._products(sums, a, b)])

        begin = self.sums.start(m0, n0, sums) if steps.first else self.sums.take_back(ni, sums)
        products = [loop(IntImm("int32", steps.count), step, name="k")]
        if not steps.last:
            return seq([*begin, *products, *self.sums.keep(ni, sums)])
        lines = self.sums.lines(m0, n0, strips.width, columns.width)
        end = self.sums.finish(m0, n0, strips.width, columns.width, sums)
        return seq([*lines, *begin, *products, *self._tail(n0, sums), *end])

    def _tail(self, n0: Any, sums: Sequence[tuple[int, int]]) -> list[Stmt]:
        """The products behind the last whole step."""
        if not self.copies.tail:
            return []
        return self._products(
            sums,
            lambda i: tiles.load(4 + i, self.copies.tail_of_a(i * SIDE), ROW_BYTES),
            lambda j: tiles.load(6 + j, self.copies.tail_of_b(n0 + j * SIDE), ROW_BYTES),
        )

    def _products(
        self, sums: Sequence[tuple[int, int]], a: Callable[[int], Stmt], b: Callable[[int], Stmt]
    ) -> list[Stmt]:
        """Of tiles that ``a(i)`` and ``b(j)`` load; each as soon as its operands are there."""
        rows, sides = sorted({i for i, _ in sums}), sorted({j for _, j in sums})
        dots = [tiles.multiply(self.product.instruction, 2 * i + j, 4 + i, 6 + j) for i, j in sums]
        first, others = b(sides[0]), [b(j) for j in sides[1:]]
        return [first, a(0), *others, *dots[: len(sides)], *(a(i) for i in rows[1:]), *dots[len(sides) :]]

    def _next_strip(self, m0: Any, strips: Piece, ni: Any, k: Any) -> list[Stmt]:
        """Each panel of B fetches some rows of the strip of A that comes next into the second-level cache."""
        if not is_in_place(self.call, "a") or strips.width < STRIP:
            return []
        rows = min(MOST_ROWS_AHEAD, -(-STRIP // -(-self.columns // STRIP)))
        where = [element_indices(self.call.a, m0 + STRIP + ni * rows + row, k) for row in range(rows)]
        return [prefetch(self.call.a.source, indices, 2) for indices in where]


def _over_chunks(chunks: Sequence[Piece], body: Callable[[_Steps], Stmt]) -> list[Stmt]:
    """``body`` for each chunk: the first and the last of all by themselves, those between them in loops."""
    final = chunks[-1].start + chunks[-1].count * chunks[-1].width

    def between(piece: Piece, low: int, high: int) -> Stmt:
        def chunk(number: Any) -> Stmt:
            return body(_Steps(piece.start + (number + low) * piece.width, piece.width, False, False))

        return loop(IntImm("int32", high - low), chunk, name="chunk")

    parts = []
    for piece in chunks:
        begins, ends = piece.start == 0, piece.start + piece.count * piece.width == final
        if begins:
            parts.append(body(_Steps(IntImm("int32", 0), piece.width, True, ends and piece.count == 1)))
        low, high = int(begins), piece.count - int(ends)
        if high > low:
            parts.append(between(piece, low, high))
        if ends and not (begins and piece.count == 1):
            parts.append(body(_Steps(IntImm("int32", final - piece.width), piece.width, False, True)))
    return parts


def _shapes_of_registers(rows: tuple[int, int], columns: tuple[int, int]) -> tuple[list[int], list[int]]:
    """The rows, and the bytes of a row, of the eight registers."""
    heights = [rows[0], rows[0], rows[1], rows[1], *rows, SIDE, SIDE]
    widths = [4 * columns[0], 4 * columns[1]] * 2 + [ROW_BYTES, ROW_BYTES] + [4 * columns[0], 4 * columns[1]]
    used = [height > 0 and width > 0 for height, width in zip(heights, widths, strict=True)]
    return [h * u for h, u in zip(heights, used, strict=True)], [w * u for w, u in zip(widths, used, strict=True)]
