"""gemm with tile registers (AMX): 16 x 16 accumulators, from 16 rows of A and 16 columns of B of 64 bytes along K each.

Eight registers: 0 to 3 are 2 x 2 tiles of C, 4 and 5 two of A, 6 and 7 two of B. A strip of 32 rows of A is multiplied
with all of B before the next strip, so that it stays in the first caches; C stays in its registers for all of K. A is
read row by row, from the tensor itself where it can be. B lies in panels of 16 columns with the 2 (or 4) neighbours
along K of one column side by side, which is the form that the instructions take it in.
Intel 64 and IA-32 architectures SDM, volume 1, chapter 18 (AMX), volume 2: LDTILECFG, TILELOADD, TDPBF16PS, TDPBSSD.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilecore.backends.cpu import amx_calls as tiles
from tilecore.backends.cpu.dot_products import grouped_panels
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of, loop, seq
from tilecore.ir.layout import BufferLayout, of_each_tile
from tilecore.ir.nodes import BufferLoad, IfThenElse, IntImm, Stmt, Var
from tilecore.ir.regions import element_indices, is_whole_tile
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.loops.prefetch import LINE, portion, prefetch
from tilecore.lowering.loops.register_tiles import Piece, is_hoisted, is_in_place, pieces, rows_apart
from tilecore.lowering.tile_ops.gemm import Operands, needs_constant_sizes

SIDE = 16  # rows of a tile register, and columns of an accumulator
STRIP = 2 * SIDE
ROW_BYTES = 64  # of a tile register
MOST_ROWS_AHEAD = 4  # of the next strip, that one panel of B prefetches
LEAST_STEPS_OF_PREFETCH = 8  # along K, for prefetches of C to pay
_INT8 = ("int8", "uint8")


class Product(NamedTuple):
    """What a gemm of some element types needs: the instruction, by its name in LLVM, the neighbours along K that it
    takes side by side, and the feature that the processor must have."""

    instruction: str
    group: int
    feature: str


def product_of(a: str, b: str, c: str) -> Product | None:
    """The instruction for these element types of A, B and C; None where there is none."""
    if (a, b, c) == ("bfloat16", "bfloat16", "float32"):
        return Product("tdpbf16ps", 2, "amx-bf16")
    if a in _INT8 and b in _INT8 and c == "int32":
        return Product(f"tdpb{'u' if a == 'uint8' else 's'}{'u' if b == 'uint8' else 's'}d", 4, "amx-int8")
    return None


def _product(call: TileCall) -> Product | None:
    return product_of(dtype_of(call.a.source), dtype_of(call.b.source), dtype_of(call.c.source))


def matches(call: TileCall, env: PassEnv) -> str | None:
    product = _product(call)
    if product is None:
        kinds = [dtype_of(region.source) for region in (call.a, call.b, call.c)]
        return f"element types {', '.join(kinds)}, for which there is no instruction"
    features = str(env.target.get("features", "")).split(",")
    missing = [feature for feature in ("amx-tile", product.feature) if feature not in features]
    if missing:
        return f"the target has no {', '.join(missing)}"
    return needs_constant_sizes(call, env) or _shapes(call, product) or _memory(call)


def _shapes(call: TileCall, product: Product) -> str | None:
    if call.transpose_a:
        return "A is transposed: its neighbours along K do not lie together"
    step = SIDE * product.group
    if Operands(call).k % step:
        return f"K is no multiple of {step}"
    if not is_whole_tile(call.b):
        return "B is a part of a buffer"
    return "A and B are one buffer" if call.b.source.same_as(call.a.source) else None


def _memory(call: TileCall) -> str | None:
    """The rows of A and C must lie at one distance, and be known to lie inside their buffers."""
    for name, region in (("a", call.a), ("c", call.c)):
        if is_global(region.source) and not (is_in_place(call, name) or is_hoisted(call, name)):
            return f"{name.upper()} is a tensor that the kernel multiplies without a copy"
        if any(constant(size) is None for size in region.source.shape) or len(region.source.strides or ()):
            return f"the rows of {name.upper()} lie at distances that only the call knows"
    return None


def layouts(call: TileCall, env: PassEnv) -> dict[Any, BufferLayout]:
    """B in panels; the rows of A and C at distances that the loads and stores of tiles take."""
    product = _product(call)
    assert product is not None
    *numbers, rows, columns = (int(size) for size in call.b.source.shape)
    panels = grouped_panels(rows, columns, product.group, bool(call.transpose_b), width=SIDE)
    granted = {call.b.source: of_each_tile(panels, numbers)}
    for name, region in (("a", call.a), ("c", call.c)):
        if not is_global(region.source) or is_hoisted(call, name):
            granted[region.source] = rows_apart(region.source)
    return granted


def _pitch(buffer: Var, granted: dict[Any, BufferLayout]) -> int:
    """Bytes from one row of a buffer to the next."""
    shape = granted[buffer].shape if buffer in granted else buffer.shape
    return int(shape[-1]) * DType(dtype_of(buffer)).bytes


def lower(call: TileCall, env: PassEnv) -> Stmt:
    return _TileProduct(call, env).lower()


class _TileProduct:
    """Lowers one gemm."""

    def __init__(self, call: TileCall, env: PassEnv) -> None:
        product = _product(call)
        assert product is not None
        self.call, self.product = call, product
        self.operands = Operands(call)
        granted = layouts(call, env)
        self.a_pitch, self.c_pitch = _pitch(call.a.source, granted), _pitch(call.c.source, granted)
        self.step = SIDE * product.group  # along K
        self.panels = -(-self.operands.n // STRIP)

    def lower(self) -> Stmt:
        parts = []
        for strips in pieces(self.operands.m, STRIP):
            for columns in pieces(self.operands.n, STRIP):
                rows = _halves(strips.width)
                widths = _halves(columns.width)
                parts += [tiles.configure(*_shapes_of_registers(rows, widths)), self._tiles(strips, columns)]
        return seq([*parts, tiles.release()])

    def _tiles(self, strips: Piece, columns: Piece) -> Stmt:
        """All groups of 2 x 2 accumulators of one size."""

        def strip(mi: Any) -> Stmt:
            def panel(ni: Any) -> Stmt:
                m0, n0 = strips.start + mi * strips.width, columns.start + ni * columns.width
                ahead = portion(self.call, mi * columns.count + ni, strips.count * columns.count)
                return seq([*([] if strips.start or columns.start else ahead), self._tile(m0, n0, strips, columns, ni)])

            return loop(IntImm("int32", columns.count), panel, name="ni")

        return loop(IntImm("int32", strips.count), strip, name="mi")

    def _tile(self, m0: Any, n0: Any, strips: Piece, columns: Piece, ni: Any) -> Stmt:
        halves = [i for i, size in enumerate(_halves(strips.width)) if size]
        sides = [j for j, size in enumerate(_halves(columns.width)) if size]
        sums = [(2 * i + j, self._c(m0 + i * SIDE, n0 + j * SIDE)) for i in halves for j in sides]

        def step(s: Any) -> Stmt:
            k = s * self.step
            b = [tiles.load(6 + j, self._b(k, n0 + j * SIDE), ROW_BYTES) for j in sides]
            a = [tiles.load(4 + i, self._a(m0 + i * SIDE, k), self.a_pitch) for i in halves]
            dots = [tiles.multiply(self.product.instruction, 2 * i + j, 4 + i, 6 + j) for i in halves for j in sides]
            # each product as soon as its operands are there
            order = [b[0], a[0], *b[1:], *dots[: len(sides)], *a[1:], *dots[len(sides) :]]
            return seq([*self._next_strip(m0, strips, ni, k), *order])

        return seq(
            [
                *self._lines_of_c(m0, n0, strips.width, columns.width),
                self._start(sums),
                loop(IntImm("int32", self.operands.k // self.step), step, name="k"),
                *(tiles.store(number, element, self.c_pitch) for number, element in sums),
            ]
        )

    def _start(self, sums: list[tuple[int, BufferLoad]]) -> Stmt:
        clear = constant(self.call.clear_accum)
        zeros = seq([tiles.zero(number) for number, _ in sums])
        old = seq([tiles.load(number, element, self.c_pitch) for number, element in sums])
        if clear is None:
            return IfThenElse(self.call.clear_accum, zeros, old)
        return zeros if clear else old

    # -- memory -----------------------------------------------------------------------------------------------

    def _a(self, m: Any, k: Any) -> BufferLoad:
        return BufferLoad(self.call.a.source, element_indices(self.call.a, m, k))

    def _b(self, k: Any, n: Any) -> BufferLoad:
        at = (n, k) if self.call.transpose_b else (k, n)
        return BufferLoad(self.call.b.source, element_indices(self.call.b, *at))

    def _c(self, m: Any, n: Any) -> BufferLoad:
        return BufferLoad(self.call.c.source, element_indices(self.call.c, m, n))

    def _next_strip(self, m0: Any, strips: Piece, ni: Any, k: Any) -> list[Stmt]:
        """Each panel of B fetches some rows of the strip of A that comes next into the second-level cache."""
        if not is_in_place(self.call, "a") or strips.width < STRIP:
            return []
        rows = min(MOST_ROWS_AHEAD, -(-STRIP // self.panels))
        where = [element_indices(self.call.a, m0 + STRIP + ni * rows + row, k) for row in range(rows)]
        return [prefetch(self.call.a.source, indices, 2) for indices in where]

    def _lines_of_c(self, m0: Any, n0: Any, height: int, width: int) -> list[Stmt]:
        """Where C is a tensor, its lines are fetched while the products run."""
        if not is_in_place(self.call, "c") or self.operands.k // self.step < LEAST_STEPS_OF_PREFETCH:
            return []
        buffer = self.call.c.source
        elements = LINE // DType(dtype_of(buffer)).bytes
        where = [element_indices(self.call.c, m0 + i, n0 + j) for i in range(height) for j in range(0, width, elements)]
        return [prefetch(buffer, indices, 1) for indices in where]


def _halves(width: int) -> tuple[int, int]:
    """The rows (or columns) of two tile registers side by side that together have ``width``."""
    return min(width, SIDE), max(0, width - SIDE)


def _shapes_of_registers(rows: tuple[int, int], columns: tuple[int, int]) -> tuple[list[int], list[int]]:
    """The rows, and the bytes of a row, of the eight registers."""
    heights = [rows[0], rows[0], rows[1], rows[1], *rows, SIDE, SIDE]
    widths = [4 * columns[0], 4 * columns[1]] * 2 + [ROW_BYTES, ROW_BYTES] + [4 * columns[0], 4 * columns[1]]
    used = [height > 0 and width > 0 for height, width in zip(heights, widths, strict=True)]
    return [h * u for h, u in zip(heights, used, strict=True)], [w * u for w, u in zip(widths, used, strict=True)]


IMPLEMENTATIONS = (
    TileOpImpl(
        "gemm",
        "AMX tiles",
        lower,
        matches,
        priority=20,
        needs_layouts=True,
        layouts=layouts,
        in_place=lambda call, env: frozenset("a"),
    ),
)
