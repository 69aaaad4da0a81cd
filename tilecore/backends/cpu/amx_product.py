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
from tilecore.backends.cpu.amx_operands import (
    ROW_BYTES,
    SIDE,
    STRIP,
    layouts,
    product_of_call,
    sums_of,
    target_features,
)
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import cast, constant, dtype_of, load, loop, seq, store
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    ForKind,
    IfThenElse,
    IntImm,
    Ramp,
    Stmt,
    Var,
    tirx,
)
from tilecore.ir.regions import element_indices
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.loops.lane_ops import raw_load
from tilecore.lowering.loops.prefetch import LINE, portion, prefetch
from tilecore.lowering.loops.register_tiles import Piece, balanced_pieces, is_copied_in_passing, is_in_place, pieces
from tilecore.lowering.tile_ops.gemm import Operands

MOST_ROWS_AHEAD = 4  # of the next strip, that one panel of B prefetches
LEAST_STEPS_OF_PREFETCH = 8  # along K, for prefetches of C to pay
STEPS_OF_CHUNK = 8  # of 64 bytes along K: 32 rows of A take 16 KiB, of a first-level cache of 48
LEAST_PANELS_OF_CHUNKS = 4  # of B, for which a strip of A is read again
ALIASING_PITCH = (
    4096  # bytes: rows of A at such distances share one set of the first-level cache, and chunks do not stay
)


def _pitch(buffer: Var, granted: dict[Any, BufferLayout]) -> int:
    """Bytes from one row of a buffer to the next."""
    shape = granted[buffer].shape if buffer in granted else buffer.shape
    return int(shape[-1]) * DType(dtype_of(buffer)).bytes


@dataclass(frozen=True)
class _Steps:
    """Steps along K: the number of the first, how many, and whether they are the first and the last of all."""

    start: Any
    count: int
    first: bool
    last: bool


class TileProduct:
    """Lowers one gemm."""

    def __init__(self, call: TileCall, env: PassEnv) -> None:
        product = product_of_call(call)
        assert product is not None
        self.call, self.product = call, product
        self.operands = Operands(call)
        granted = layouts(call, env)
        self.a_pitch, self.c_pitch = _pitch(call.a.source, granted), _pitch(call.c.source, granted)
        self.step = SIDE * product.group  # elements along K
        self.sums = sums_of(call)
        self.is_rounded = CallAttr.SUMS in call.hints
        self.rounds_pairs = dtype_of(call.c.source) == "bfloat16" and "avx512bf16" in target_features(env)
        self.panels: Var | None = None  # of B, where the gemm makes them
        self.chunk: Var | None = None  # the copy of a chunk of A: [step, row, element]
        self.tail = self.operands.k % self.step  # elements along K behind the last whole step
        self.tail_a: Var | None = None  # of a strip, with zeros behind them: [row, element]
        self.tail_b: Var | None = None  # of all columns, in the form of panels
        self.waiting: Var | None = None  # sums of a strip between two chunks: [panel, register, row, column]
        self.tile: Var | None = None  # sums to be rounded
        self.buffers: list[Stmt] = []

    def lower(self) -> Stmt:
        by_columns = pieces(self.operands.n, STRIP)
        if is_copied_in_passing(self.call, "b"):
            group = self.product.group
            shape = [-(-self.operands.n // SIDE), (self.operands.k - self.tail) // group, SIDE, group]
            self.panels = self._buffer(shape, dtype_of(self.call.b.source), "panels")
        if sum(chunk.count for chunk in self._chunks(by_columns[0])) > 1:
            self.waiting = self._buffer([by_columns[0].count, 4, SIDE, SIDE], self.sums, "waiting")
            self.chunk = self._buffer([STEPS_OF_CHUNK, STRIP, self.step], dtype_of(self.call.a.source), "chunk")
        if self.is_rounded:
            self.tile = self._buffer([STRIP, STRIP], self.sums, "tile")
        parts: list[Stmt] = []
        if self.tail:
            shape = [-(-self.operands.n // SIDE), self.step // self.product.group, SIDE, self.product.group]
            self.tail_a = self._buffer([STRIP, self.step], dtype_of(self.call.a.source), "tail_a")
            self.tail_b = self._buffer(shape, dtype_of(self.call.b.source), "tail_b")
            parts += self._copies_of_tail_b(by_columns)
        for strips in pieces(self.operands.m, STRIP):
            for columns in by_columns:
                rows, widths = _halves(strips.width), _halves(columns.width)
                parts += [tiles.configure(*_shapes_of_registers(rows, widths)), self._strips(strips, columns)]
        return seq([*self.buffers, *parts, tiles.release()])

    def _buffer(self, shape: list[int], dtype: str, name: str) -> Var:
        buffer = tirx.decl_buffer(shape, dtype, name, scope="shared", layout=None)
        self.buffers.append(AllocBuffer(buffer))
        return buffer

    def _chunks(self, columns: Piece) -> list[Piece]:
        """The steps along K, in chunks of one or two sizes."""
        steps = self.operands.k // self.step
        if columns.count < LEAST_PANELS_OF_CHUNKS or steps < 2 * STEPS_OF_CHUNK:
            return [Piece(0, 1, steps)]
        return balanced_pieces(steps, STEPS_OF_CHUNK)

    # -- the order of the products ----------------------------------------------------------------------------

    def _strips(self, strips: Piece, columns: Piece) -> Stmt:
        """All strips of one height, times all panels of one width."""

        def strip(mi: Any, makes_panels: bool) -> Stmt:
            return self._strip(strips, columns, mi, makes_panels)

        if self.panels is None or strips.start:
            return loop(IntImm("int32", strips.count), lambda mi: strip(mi, False), name="mi")
        others = loop(IntImm("int32", strips.count - 1), lambda mi: strip(mi + 1, False), name="mi")
        return seq([strip(IntImm("int32", 0), True), *([others] if strips.count > 1 else [])])

    def _strip(self, strips: Piece, columns: Piece, mi: Any, makes_panels: bool) -> Stmt:
        """One strip of A: for each chunk along K all panels."""

        def chunk(steps: _Steps) -> Stmt:
            def panel(ni: Any, makes: frozenset[str]) -> Stmt:
                ahead = []
                if steps.first and not strips.start and not columns.start:
                    ahead = portion(self.call, mi * columns.count + ni, strips.count * columns.count)
                return seq([*ahead, self._tile(strips, columns, mi, ni, steps, makes)])

            made = frozenset("b" if makes_panels else "")
            if steps.first and steps.last:
                return loop(IntImm("int32", columns.count), lambda ni: panel(ni, made), name="ni")
            others = loop(IntImm("int32", columns.count - 1), lambda ni: panel(ni + 1, made | {"chunk"}), name="ni")
            return seq([panel(IntImm("int32", 0), made | {"chunk", "a"}), others])

        before = self._copies_of_tail_a(strips.start + mi * strips.width, strips.width) if self.tail else []
        return seq([*before, *_over_chunks(self._chunks(columns), chunk)])

    def _tile(self, strips: Piece, columns: Piece, mi: Any, ni: Any, steps: _Steps, made: frozenset[str]) -> Stmt:
        """The products of some steps for 2 x 2 accumulators. made: "a" where they copy the chunk of A, "chunk" where
        they read that copy, "b" where they make the panel of B."""
        m0, n0 = strips.start + mi * strips.width, columns.start + ni * columns.width
        halves = [i for i, size in enumerate(_halves(strips.width)) if size]
        sides = [j for j, size in enumerate(_halves(columns.width)) if size]
        sums = [(i, j) for i in halves for j in sides]

        def products(a: list[Stmt], b: list[Stmt]) -> list[Stmt]:
            """Each as soon as its operands are there."""
            dots = [tiles.multiply(self.product.instruction, 2 * i + j, 4 + i, 6 + j) for i, j in sums]
            return [b[0], a[0], *b[1:], *dots[: len(sides)], *a[1:], *dots[len(sides) :]]

        def step(s: Any) -> Stmt:
            k = (steps.start + s) * self.step
            b = [tiles.load(6 + j, self._b(k, n0 + j * SIDE), ROW_BYTES) for j in sides]
            if "chunk" in made:
                a = [tiles.load(4 + i, self._in_chunk(s, i * SIDE), ROW_BYTES) for i in halves]
            else:
                a = [tiles.load(4 + i, self._a(m0 + i * SIDE, k), self.a_pitch) for i in halves]
            copies = self._interleaved(k, n0, columns.width) if "b" in made else []
            if "a" in made:
                copies.append(self._copy_of_a(m0, k, s, strips.width))
            return seq([*copies, *self._next_strip(m0, strips, columns, ni, k), *products(a, b)])

        behind = []
        if self.tail and steps.last:
            first = IntImm("int32", 0)
            b = [tiles.load(6 + j, self._in_tail_b(n0 + j * SIDE), ROW_BYTES) for j in sides]
            a = [tiles.load(4 + i, BufferLoad(self.tail_a, [first + i * SIDE, first]), ROW_BYTES) for i in halves]
            behind = products(a, b)
        begin = self._start(m0, n0, sums) if steps.first else self._between(tiles.load, ni, sums)
        end = self._finish(m0, n0, strips, columns, sums) if steps.last else self._between(tiles.store, ni, sums)
        return seq(
            [
                *(self._lines_of_c(m0, n0, strips.width, columns.width) if steps.last else []),
                *begin,
                loop(IntImm("int32", steps.count), step, name="k"),
                *behind,
                *end,
            ]
        )

    # -- the sums ---------------------------------------------------------------------------------------------

    def _start(self, m0: Any, n0: Any, sums: Sequence[tuple[int, int]]) -> list[Stmt]:
        clear = constant(self.call.clear_accum)
        zeros = [tiles.zero(2 * i + j) for i, j in sums]
        if self.is_rounded:
            return zeros
        old = [tiles.load(2 * i + j, self._c(m0 + i * SIDE, n0 + j * SIDE), self.c_pitch) for i, j in sums]
        if clear is None:
            return [IfThenElse(self.call.clear_accum, seq(zeros), seq(old))]
        return zeros if clear else old

    def _between(self, move: Any, ni: Any, sums: Sequence[tuple[int, int]]) -> list[Stmt]:
        """Keeps the sums between two chunks, or takes them back."""
        at = [IntImm("int32", 0)] * 2
        return [move(2 * i + j, BufferLoad(self.waiting, [ni, 2 * i + j, *at]), ROW_BYTES) for i, j in sums]

    def _finish(self, m0: Any, n0: Any, strips: Piece, columns: Piece, sums: Sequence[tuple[int, int]]) -> list[Stmt]:
        if not self.is_rounded:
            return [tiles.store(2 * i + j, self._c(m0 + i * SIDE, n0 + j * SIDE), self.c_pitch) for i, j in sums]
        size = DType(self.sums).bytes
        kept = [tiles.store(2 * i + j, BufferLoad(self.tile, [i * SIDE, j * SIDE]), STRIP * size) for i, j in sums]

        def row(i: Any) -> Stmt:
            parts = [self._rounded(m0, n0, i, j, width) for j, width in enumerate(_halves(columns.width)) if width]
            return seq(parts)

        return [*kept, loop(IntImm("int32", strips.width), row, name="i")]

    def _rounded(self, m0: Any, n0: Any, i: Any, half: int, width: int) -> Stmt:
        """Rounds up to 16 sums of row ``i`` of the tile into the tensor. Those of bfloat16 are never denormal, as
        TDPBF16PS makes zeros of such numbers; VCVTNEPS2BF16 would, too."""
        first = half * SIDE
        target = self.call.c.source
        if self.rounds_pairs and width == SIDE:
            where = element_indices(self.call.c, m0 + i, n0 + first)
            where[-1] = Ramp(where[-1], IntImm("int32", 1), SIDE)
            sums = raw_load(BufferLoad(self.tile, [i, IntImm("int32", first)]), f"{self.sums}x{SIDE}")
            return BufferStore(target, tiles.rounded_to_bfloat16(sums, SIDE), where, span=self.call.span)

        def element(j: Any) -> Stmt:
            value = cast(load(self.tile, [i, first + j]), dtype_of(target))
            return store(target, value, element_indices(self.call.c, m0 + i, n0 + first + j), self.call.span)

        return loop(IntImm("int32", width), element, name="j", kind=ForKind.VECTORIZED)

    # -- memory -----------------------------------------------------------------------------------------------

    def _a(self, m: Any, k: Any) -> BufferLoad:
        return BufferLoad(self.call.a.source, element_indices(self.call.a, m, k))

    def _in_chunk(self, s: Any, row: int) -> BufferLoad:
        return BufferLoad(self.chunk, [s, IntImm("int32", row), IntImm("int32", 0)])

    def _copy_of_a(self, m0: Any, k0: Any, s: Any, rows: int) -> Stmt:
        """The elements of one step, of all rows of a strip."""

        def row(i: Any) -> Stmt:
            def element(j: Any) -> Stmt:
                value = load(self.call.a.source, element_indices(self.call.a, m0 + i, k0 + j), self.call.span)
                return store(self.chunk, value, [s, i, j], self.call.span)

            return loop(IntImm("int32", self.step), element, name="j", kind=ForKind.VECTORIZED)

        return loop(IntImm("int32", rows), row, name="i")

    def _b(self, k: Any, n: Any) -> BufferLoad:
        if self.panels is not None:
            at = [IntImm("int32", 0)] * 2
            return BufferLoad(self.panels, [tirx.floordiv(n, SIDE), tirx.floordiv(k, self.product.group), *at])
        return BufferLoad(
            self.call.b.source, element_indices(self.call.b, *((n, k) if self.call.transpose_b else (k, n)))
        )

    def _c(self, m: Any, n: Any) -> BufferLoad:
        return BufferLoad(self.call.c.source, element_indices(self.call.c, m, n))

    def _interleaved(self, k0: Any, n0: Any, width: int) -> list[Stmt]:
        """The rows of B of one step, in the columns of two panels; columns in parts of powers of two, of which
        interleave_rows.py makes vectors."""
        powers = [1 << bit for bit in reversed(range(width.bit_length())) if width >> bit & 1]
        return [
            self._in_panels(self.panels, k0, n0 + sum(powers[:number]), self.step, count, k0)
            for number, count in enumerate(powers)
        ]

    def _in_panels(self, panels: Any, k0: Any, n0: Any, rows: int, columns: int, at: Any) -> Stmt:
        """``rows`` rows of B from ``k0`` and ``columns`` columns from ``n0``, as the rows from ``at`` of panels."""
        group = self.product.group

        def row(k: Any) -> Stmt:
            def column(n: Any) -> Stmt:
                element = (n0 + n, k0 + k) if self.call.transpose_b else (k0 + k, n0 + n)
                value = load(self.call.b.source, element_indices(self.call.b, *element), self.call.span)
                where = [tirx.floordiv(n0 + n, SIDE), tirx.floordiv(at + k, group)]
                inner = [tirx.floormod(n0 + n, SIDE), tirx.floormod(at + k, group)]
                return store(panels, value, [*where, *inner], self.call.span)

            return loop(IntImm("int32", columns), column, name="j", kind=ForKind.PARALLEL)

        return loop(IntImm("int32", rows), row, name="i", kind=ForKind.PARALLEL)

    def _in_tail_b(self, n: Any) -> BufferLoad:
        return BufferLoad(self.tail_b, [tirx.floordiv(n, SIDE), *[IntImm("int32", 0)] * 3])

    def _copies_of_tail_b(self, by_columns: Sequence[Piece]) -> list[Stmt]:
        """The last rows of B, with zeros behind them."""
        assert self.tail_b is not None
        statements = [_zeros(self.tail_b)]
        whole, zero = self.operands.k - self.tail, IntImm("int32", 0)
        for columns in by_columns:

            def panel(ni: Any, columns: Piece = columns) -> Stmt:
                n0 = columns.start + ni * columns.width
                return self._in_panels(self.tail_b, whole, n0, self.tail, columns.width, zero)

            statements.append(loop(IntImm("int32", columns.count), panel, name="ni"))
        return statements

    def _copies_of_tail_a(self, m0: Any, rows: int) -> list[Stmt]:
        """The last elements of the rows of a strip, with zeros behind them."""
        assert self.tail_a is not None
        whole = self.operands.k - self.tail

        def row(i: Any) -> Stmt:
            def element(j: Any) -> Stmt:
                value = load(self.call.a.source, element_indices(self.call.a, m0 + i, whole + j), self.call.span)
                return store(self.tail_a, value, [i, j], self.call.span)

            return loop(IntImm("int32", self.tail), element, name="j", kind=ForKind.VECTORIZED)

        return [_zeros(self.tail_a), loop(IntImm("int32", rows), row, name="i")]

    def _next_strip(self, m0: Any, strips: Piece, columns: Piece, ni: Any, k: Any) -> list[Stmt]:
        """Each panel of B fetches some rows of the strip of A that comes next into the second-level cache."""
        if not is_in_place(self.call, "a") or strips.width < STRIP:
            return []
        rows = min(MOST_ROWS_AHEAD, -(-STRIP // -(-self.operands.n // STRIP)))
        where = [element_indices(self.call.a, m0 + STRIP + ni * rows + row, k) for row in range(rows)]
        return [prefetch(self.call.a.source, indices, 2) for indices in where]

    def _lines_of_c(self, m0: Any, n0: Any, height: int, width: int) -> list[Stmt]:
        """Where C is a tensor, its lines are fetched while the products run."""
        if not is_in_place(self.call, "c") or self.is_rounded:
            return []  # rounded ones are half as many, and wait for no load
        if self.operands.k // self.step < LEAST_STEPS_OF_PREFETCH:
            return []
        buffer = self.call.c.source
        elements = LINE // DType(dtype_of(buffer)).bytes
        where = [element_indices(self.call.c, m0 + i, n0 + j) for i in range(height) for j in range(0, width, elements)]
        return [prefetch(buffer, indices, 1) for indices in where]


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


def _zeros(buffer: Var) -> Stmt:
    """A buffer filled with zeros."""

    def axis(indices: list[Any]) -> Stmt:
        number = len(indices)
        if number == len(buffer.shape):
            return store(buffer, tirx.const(0, dtype_of(buffer)), indices)
        return loop(buffer.shape[number], lambda i: axis([*indices, i]), name="i", kind=ForKind.PARALLEL)

    return axis([])


def _halves(width: int) -> tuple[int, int]:
    """The rows (or columns) of two tile registers side by side that together have ``width``."""
    return min(width, SIDE), max(0, width - SIDE)


def _shapes_of_registers(rows: tuple[int, int], columns: tuple[int, int]) -> tuple[list[int], list[int]]:
    """The rows, and the bytes of a row, of the eight registers."""
    heights = [rows[0], rows[0], rows[1], rows[1], *rows, SIDE, SIDE]
    widths = [4 * columns[0], 4 * columns[1]] * 2 + [ROW_BYTES, ROW_BYTES] + [4 * columns[0], 4 * columns[1]]
    used = [height > 0 and width > 0 for height, width in zip(heights, widths, strict=True)]
    return [h * u for h, u in zip(heights, used, strict=True)], [w * u for w, u in zip(widths, used, strict=True)]
