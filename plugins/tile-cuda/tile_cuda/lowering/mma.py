"""gemm by ``mma.sync``: every warp multiplies its part in pieces of 16 x 8 x 16, operands by ``ldmatrix``.

Layouts of operands: PTX ISA, "Matrix Fragments for mma.m16n8k16".
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tile_cuda import instructions
from tile_cuda.lowering.swizzle import swizzled
from tile_cuda.lowering.warps import WARP, policy_of, warp_grid
from tilecore.ir.build import const, constant, dtype_of, load, seq
from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout, tiled
from tilecore.ir.nodes import AllocBuffer, Expr, For, ForKind, IfThenElse, Stmt, Var, tirx
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.implementation import TileOpImpl
from tilecore.lowering.passes import PassEnv
from tilecore.lowering.simt.partition import is_fragment

ROWS, COLUMNS = 16, 8
# as the header spells element types
SHORT = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "int8": "s8", "uint8": "u8", "int32": "s32"}


class Shape(NamedTuple):
    """One instruction: element types, depth along K, and the least architecture."""

    a: str
    b: str
    c: str
    depth: int
    least: int

    @property
    def name(self) -> str:
        kinds = (SHORT[self.a],) if self.a == self.b else (SHORT[self.a], SHORT[self.b])
        return "_".join([f"m16n8k{self.depth}", *kinds, SHORT[self.c]])


SHAPES = (
    Shape("float16", "float16", "float32", 16, 80),
    Shape("float16", "float16", "float16", 16, 80),
    Shape("bfloat16", "bfloat16", "float32", 16, 80),
)

# 16 x 8 results of a warp, four a thread
ACCUMULATOR = FragmentLayout(
    (ROWS, COLUMNS),
    WARP,
    (
        Digit(0, 1, 8, THREAD, 4),
        Digit(0, 8, 2, REGISTER, 2),
        Digit(1, 1, 2, REGISTER, 1),
        Digit(1, 2, 4, THREAD, 1),
    ),
)
# 16 x 16 elements of A, eight a thread
OPERAND_A = FragmentLayout(
    (ROWS, 16),
    WARP,
    (
        Digit(0, 1, 8, THREAD, 4),
        Digit(0, 8, 2, REGISTER, 2),
        Digit(1, 1, 2, REGISTER, 1),
        Digit(1, 2, 4, THREAD, 1),
        Digit(1, 8, 2, REGISTER, 4),
    ),
)


class Product(NamedTuple):
    """What one gemm asks for: sizes, the warps' grid, the instruction."""

    m: int
    n: int
    k: int
    along_m: int
    along_n: int
    shape: Shape

    @property
    def m_tiles(self) -> int:
        """Pieces of 16 rows of a warp."""
        return self.m // self.along_m // ROWS

    @property
    def n_tiles(self) -> int:
        return self.n // self.along_n // COLUMNS


def product_of(call: TileCall, env: PassEnv, threads: int | None) -> Product | str:
    """The product, or why it cannot be done so."""
    kinds = tuple(dtype_of(r.source) for r in (call.a, call.b, call.c))
    arch = int("".join(c for c in str(env.target.get("arch", "")) if c.isdigit()) or 0)
    shape = next((s for s in SHAPES if (s.a, s.b, s.c) == kinds), None)
    if shape is None:
        return f"no instruction for {', '.join(kinds)}"
    if arch < shape.least:
        return f"needs sm_{shape.least}, and the target is sm_{arch}"
    sizes = [constant(r.extent) for region in (call.a, call.b, call.c) for r in region.region[-2:]]
    if any(s is None for s in sizes):
        return "a tile size is not known when compiling"
    m, n = (int(constant(r.extent) or 0) for r in call.c.region[-2:])
    k = int(constant(call.a.region[-2 if call.transpose_a else -1].extent) or 0)
    if not is_fragment(call.c.source):
        return "C is no fragment"
    whole = zip(call.c.region, call.c.source.shape, strict=True)
    if any(constant(r.min) != 0 or constant(r.extent) != constant(s) for r, s in whole):
        return "C is a part of a fragment"
    if k % shape.depth:
        return f"K = {k} is no multiple of {shape.depth}"
    if threads is None:
        return Product(m, n, k, 1, 1, shape)
    grid = warp_grid(m, n, threads // WARP, policy_of(call), ROWS, COLUMNS) if threads % WARP == 0 else None
    if grid is None:
        return f"{m} x {n} does not divide into 16 x 8 pieces over {threads} threads"
    return Product(m, n, k, *grid, shape)


def matches(call: TileCall, env: PassEnv) -> str | None:
    found = product_of(call, env, env.facts.get("threads"))
    if isinstance(found, str):
        return found
    for name, region in (("A", call.a), ("B", call.b)):
        scope = str(region.source.scope())
        if name == "A" and is_fragment(region.source) and not call.transpose_a:
            continue
        if not scope.startswith("shared"):
            return f"{name} is in {scope}"
    return None


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    """Shared operands without bank conflicts."""
    wanted = {r.source: swizzled(r.source) for r in (call.a, call.b) if not is_fragment(r.source)}
    return {buffer: layout for buffer, layout in wanted.items() if layout is not None}


def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
    p = product_of(call, env, threads)
    assert isinstance(p, Product)
    repeats = [(1, p.n_tiles, REGISTER), (0, p.m_tiles, REGISTER), (0, p.along_m, THREAD), (1, p.along_n, THREAD)]
    found = {call.c.source: tiled(ACCUMULATOR, repeats, (p.m, p.n))}
    if is_fragment(call.a.source):
        along = [(1, p.k // 16, REGISTER), (0, p.m_tiles, REGISTER), (0, p.along_m, THREAD)]
        part = tiled(OPERAND_A, along, (p.m, p.k))
        found[call.a.source] = FragmentLayout(part.shape, threads, part.digits)  # copies along N
    return found


def lower(call: TileCall, env: PassEnv) -> Stmt:
    return _Lowering(call, env).run()


class _Lowering:
    def __init__(self, call: TileCall, env: PassEnv) -> None:
        self.call = call
        self.binding = env.facts["binding"]
        found = product_of(call, env, self.binding.threads)
        assert isinstance(found, Product)
        self.p = found
        self.lane = self.binding.thread % WARP
        warp = self.binding.thread // WARP
        self.row = warp % self.p.along_m * (self.p.m // self.p.along_m)
        self.column = warp // self.p.along_m * (self.p.n // self.p.along_n)
        self.c = self.binding.registers[call.c.source]
        self.a = self._registers("a", self.p.shape.a, self.p.m_tiles * 8)
        self.b = self._registers("b", self.p.shape.b, self.p.n_tiles * 4)

    @staticmethod
    def _registers(name: str, dtype: str, count: int) -> Var:
        return tirx.decl_buffer([count], dtype, name, scope="local", layout=None)

    def run(self) -> Stmt:
        step = Var("k", "int32")
        depth = self.p.shape.depth
        body = seq([*self._load_a(step * depth), *self._load_b(step * depth), *self._multiply(step)])
        loop = For(step, const(0, "int32"), const(self.p.k // depth, "int32"), ForKind.UNROLLED, body)
        owned = [] if is_fragment(self.call.a.source) else [AllocBuffer(self.a)]
        return seq([*self._clear(), *owned, AllocBuffer(self.b), loop])

    def _clear(self) -> list[Stmt]:
        known = constant(self.call.clear_accum)
        if known == 0:
            return []
        i = Var("i", "int32")
        zero = tirx.const(0, dtype_of(self.c))
        body = tirx.BufferStore(self.c, zero, [i])
        made: Stmt = For(i, const(0, "int32"), const(int(self.c.shape[0]), "int32"), ForKind.UNROLLED, body)
        return [made if known else IfThenElse(self.call.clear_accum, made, None)]

    # -- operands: ldmatrix reads 8 x 8 matrices, lane l naming row l % 8 of matrix l // 8 ---------------------------

    def _load_a(self, k: Expr) -> list[Stmt]:
        """16 x 16 of A: matrices (rows 0-7, 8-15) x (columns 0-7, 8-15), rows first."""
        if is_fragment(self.call.a.source):
            return []
        across, along = self.lane % 16, self.lane // 16 * 8
        made = []
        for tile in range(self.p.m_tiles):
            row = self.row + tile * ROWS
            if self.call.transpose_a:  # [K, M]: matrices are read turned
                at = (k + self.lane % 8 + self.lane // 16 * 8, row + self.lane // 8 % 2 * 8)
            else:
                at = (row + across, k + along)
            made.append(self._ldmatrix(self.a, tile * 8, self.call.a, at, bool(self.call.transpose_a)))
        return made

    def _load_b(self, k: Expr) -> list[Stmt]:
        """16 x 8 of B twice at once: matrices (k 0-7, 8-15) of one piece, then of the next."""
        made = []
        for tile in range(0, self.p.n_tiles, 2):
            two = tile + 1 < self.p.n_tiles
            column = self.column + tile * COLUMNS
            part, inner = self.lane // 8, self.lane % 8
            depth = k + part % 2 * 8
            next_one = column + (part // 2 * 8 if two else 0)
            # [N, K]: a row holds neighbours along K, as the instruction wants them; [K, N] is read turned
            at = (next_one + inner, depth) if self.call.transpose_b else (depth + inner, next_one)
            made.append(self._ldmatrix(self.b, tile * 4, self.call.b, at, not self.call.transpose_b, 4 if two else 2))
        return made

    def _ldmatrix(
        self, registers: Var, first: int, region: Any, at: tuple[Any, Any], turned: bool, matrices: int = 4
    ) -> Stmt:
        where = [r.min for r in region.region]
        where[-2], where[-1] = where[-2] + at[0], where[-1] + at[1]
        to, row = load(registers, [const(first, "int32")]), load(region.source, where, self.call.span)
        return instructions.ldmatrix(to, row, matrices, turned, self.call.span)

    def _multiply(self, step: Var) -> list[Stmt]:
        made = []
        for i in range(self.p.m_tiles):
            for j in range(self.p.n_tiles):
                if is_fragment(self.call.a.source):
                    number = (i * (self.p.k // 16) + step) * 8
                    a = load(self.binding.registers[self.call.a.source], [number])
                else:
                    a = load(self.a, [const(i * 8, "int32")])
                d = load(self.c, [const((i * self.p.n_tiles + j) * 4, "int32")])
                b = load(self.b, [const(j * 4, "int32")])
                made.append(instructions.mma(self.p.shape.name, d, a, b, self.call.span))
        return made


MMA_SYNC = TileOpImpl("gemm", "mma.sync", lower, matches, priority=20, late=True, layouts=layouts, fragments=fragments)
