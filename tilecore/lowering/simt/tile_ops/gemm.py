"""Lowers gemm to multiply-adds: every thread has a tile of C in registers, and reuses what it loads of A and B.

A block's threads form a grid over C; each 32 threads form 4 rows of 8. A step loads for each thread a few columns of
its rows of A and a few rows of its columns of B, as many elements along memory as one vector load takes, and multiplies
them: R x C elements of C cost a thread R + C loads. Rows that run along K are padded to an odd number of vector loads,
so that threads that read neighbouring rows access different banks.

On targets with the feature "shared_pairs" shared memory serves a vector load in half the time if lanes n and n ^ 1 read
the same address for every n, or lanes n and n ^ 2 do. There bit 0 of a lane's index selects its row and bit 1 its
column, so that the loads of A (the same for n ^ 2) and of B (the same for n ^ 1) are both fast.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilecore.contract.implementation import SHARED, TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import cast, const, dtype_of, load, loop, seq, store, where
from tilecore.ir.contraction import multiplied_into
from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout
from tilecore.ir.layout import padded_rows
from tilecore.ir.nodes import AllocBuffer, Expr, For, ForKind, Stmt, TensorRegion, Var, tirx
from tilecore.ir.reductions import accumulator
from tilecore.ir.regions import element_indices
from tilecore.ir.scopes import is_fragment, is_global, is_shared
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.analysis.partition import MOVE
from tilecore.lowering.simt.thread_env import ThreadEnv
from tilecore.lowering.simt.tile_ops.accumulators import Accumulator, is_whole_fragment
from tilecore.lowering.tile_ops.gemm import gemm_sizes, needs_constant_sizes

STEP = 4  # elements along K of a step, and neighbours across it
WARP_ROWS, WARP_COLUMNS = 4, 8
PAIRS = "shared_pairs"  # the feature of targets whose shared memory serves lanes that differ in bit 0, or 1, together
MAX_UNROLLED_PRODUCTS = 2048  # of a thread's code


class Grid(NamedTuple):
    """The partition of C over the threads.

    rows, columns: the number of threads along each axis. down, across: neighbouring rows and columns of one thread.
    more_down, more_across: how often that pattern repeats along each axis.
    """

    rows: int
    columns: int
    down: int
    across: int
    more_down: int
    more_across: int

    @property
    def height(self) -> int:
        """The number of rows of C that a thread has."""
        return self.down * self.more_down

    @property
    def width(self) -> int:
        """The number of columns of C that a thread has."""
        return self.across * self.more_across


def grid_of(call: TileCall, threads: int) -> Grid:
    """The grid in which a thread has the fewest elements of C, and among those the fewest loads."""
    m, n, _ = gemm_sizes(call)
    down = _neighbours(call.a, m) if call.transpose_a else 1
    across = 1 if call.transpose_b else _neighbours(call.b, n)

    def grid(rows: int, columns: int) -> Grid:
        return Grid(rows, columns, down, across, -(-m // (rows * down)), -(-n // (columns * across)))

    sides = [i for i in range(1, threads + 1) if threads % i == 0]
    grids = [grid(i, j) for i in sides for j in sides if threads % (i * j) == 0]
    return min(grids, key=lambda g: (g.height * g.width, g.height + g.width, g.rows * g.columns, g.rows))


def _neighbours(region: TensorRegion, size: int) -> int:
    """The number of neighbours along an axis of ``size`` that a thread takes: at most one vector load, a divisor."""
    limit = _vector_length(region)
    return next(count for count in (4, 2, 1) if count <= limit and size % count == 0)


def _vector_length(region: TensorRegion) -> int:
    """The number of elements that one vector load takes, at most STEP."""
    return max(1, min(STEP, MOVE * 8 // DType(dtype_of(region.source)).bits))


def layout_of(grid: Grid, m: int, n: int, threads: int, interleaved: bool = False) -> FragmentLayout:
    """The fragment layout of C, an m x n tile.

    interleaved: whether neighbouring lanes hold different rows, where the grid is made of 4 rows of 8 threads.
    """
    low_columns = WARP_COLUMNS if grid.columns % WARP_COLUMNS == 0 and grid.rows % WARP_ROWS == 0 else grid.columns
    low_rows = WARP_ROWS if low_columns == WARP_COLUMNS and grid.rows % WARP_ROWS == 0 else grid.rows
    more_columns, more_rows = grid.columns // low_columns, grid.rows // low_rows
    warp = low_columns * low_rows
    width = grid.width
    if interleaved and warp == WARP_ROWS * WARP_COLUMNS and grid.rows % 2 == 0:
        below = 2 * low_columns  # lanes of two rows of the grid; more rows follow, then more columns
        lanes = (
            Digit(1, grid.across, low_columns, THREAD, 2),
            Digit(1, grid.across * low_columns, more_columns, THREAD, below * grid.rows // 2),
            Digit(0, grid.down, 2, THREAD, 1),
            Digit(0, grid.down * 2, grid.rows // 2, THREAD, below),
        )
    else:
        lanes = (
            Digit(1, grid.across, low_columns, THREAD, 1),
            Digit(1, grid.across * low_columns, more_columns, THREAD, warp),
            Digit(0, grid.down, low_rows, THREAD, low_columns),
            Digit(0, grid.down * low_rows, more_rows, THREAD, warp * more_columns),
        )
    digits = (
        Digit(1, 1, grid.across, REGISTER, 1),
        Digit(1, grid.across * grid.columns, grid.more_across, REGISTER, grid.across),
        Digit(0, 1, grid.down, REGISTER, width),
        Digit(0, grid.down * grid.rows, grid.more_down, REGISTER, width * grid.down),
        *lanes,
    )
    return FragmentLayout((m, n), threads, digits)


def matches(call: TileCall, env: PassEnv) -> str | None:
    """The reason why this implementation does not apply to the call; None if it applies."""
    reason = needs_constant_sizes(call, env)
    if reason is not None:
        return reason
    for name, region in (("A", call.a), ("B", call.b), ("C", call.c)):
        buffer = region.source
        if not (is_global(buffer) or is_shared(buffer) or is_fragment(buffer)):
            return f"{name} is in {buffer.scope()} memory, of which each thread has its own"
        if DType(dtype_of(buffer)).bits % 8:
            return f"{name} has elements of {DType(dtype_of(buffer)).bits} bits, which are not whole bytes"
    return None


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    """The padded layouts of operands in shared memory whose rows run along K."""
    padded = {}
    for region, along_k in ((call.a, not call.transpose_a), (call.b, bool(call.transpose_b))):
        buffer = region.source
        if along_k and is_shared(buffer) and len(buffer.shape) > 1:
            move = _vector_length(region)
            columns = (-(-int(buffer.shape[-1]) // move) | 1) * move
            if columns != int(buffer.shape[-1]):
                padded[buffer] = padded_rows([int(s) for s in buffer.shape], columns)
    return padded


def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
    """The layout of C where it is a whole fragment; other fragments must be in shared memory."""
    required: dict[Any, Any] = {r.source: SHARED for r in (call.a, call.b, call.c) if is_fragment(r.source)}
    if is_whole_fragment(call.c) and not any(r.source.same_as(call.c.source) for r in (call.a, call.b)):
        m, n, _ = gemm_sizes(call)
        required[call.c.source] = layout_of(grid_of(call, threads), m, n, threads, _interleaves(env))
    return required


def _interleaves(env: PassEnv | ThreadEnv) -> bool:
    return PAIRS in env.capabilities.features


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    return _Gemm(call, env).run()


class _Operand(NamedTuple):
    """One of A and B, as a thread sees it. "Across" is the axis that is not K: M for A, N for B.

    along_k: do its rows run along K? start: the thread's first index across. together: the number of neighbours there.
    times: how often they repeat, ``distance`` indices apart. size: the size across, where some indices may lie outside;
    None where all lie inside.
    """

    region: TensorRegion
    registers: Var
    along_k: bool
    start: Any
    together: int
    times: int
    distance: int
    size: int | None

    @property
    def indices(self) -> int:
        """The number of the thread's indices across."""
        return self.together * self.times

    def inside(self, position: Any) -> list[Expr]:
        """The bounds guard of the thread's index at ``position`` (below ``indices``); empty where none is needed."""
        if self.size is None:
            return []
        index = self.start + position // self.together * self.distance + position % self.together
        return [index < const(self.size, "int32")]

    def register(self, across: Any, along: Any, steps: int) -> list[Any]:
        """The register of the element at positions ``across`` and ``along`` K, of ``steps`` along K."""
        return [across * steps + along] if self.along_k else [along * self.indices + across]


class _Gemm:
    def __init__(self, call: TileCall, env: ThreadEnv) -> None:
        self.call, binding = call, env.binding
        self.m, self.n, self.k = gemm_sizes(call)
        self.total = accumulator(dtype_of(call.c.source))
        self.grid = g = grid_of(call, binding.threads)
        self.interleaves = _interleaves(env)
        layout = layout_of(g, self.m, self.n, binding.threads, self.interleaves)
        c_registers = binding.registers[call.c.source] if is_fragment(call.c.source) else None
        self.accumulator = Accumulator(call, layout, binding.thread, c_registers, self.total)
        row, column = layout.indices(binding.thread, [const(0, "int32")] * len(layout.register_digits))
        self.step = min(_vector_length(call.a), _vector_length(call.b))
        past_m = self.m if g.rows * g.height > self.m else None
        past_n = self.n if g.columns * g.width > self.n else None
        a, b = (
            tirx.decl_buffer([size * self.step], dtype_of(region.source), name, scope="local", layout=None)
            for name, region, size in (("a", call.a, g.height), ("b", call.b, g.width))
        )
        self.a = _Operand(call.a, a, not call.transpose_a, row, g.down, g.more_down, g.down * g.rows, past_m)
        self.b = _Operand(
            call.b, b, bool(call.transpose_b), column, g.across, g.more_across, g.across * g.columns, past_n
        )

    def run(self) -> Stmt:
        steps, tail = divmod(self.k, self.step)
        statements = [*self.accumulator.before(), AllocBuffer(self.a.registers), AllocBuffer(self.b.registers)]
        if steps:
            statements.append(self._steps(steps))
        if tail:
            statements.append(self._step(const(steps * self.step, "int32"), tail))
        return seq([*statements, *self.accumulator.after()])

    def _steps(self, steps: int) -> Stmt:
        """All whole steps. All are unrolled where the thread's code has room for them. Else as many as it has room for,
        on targets whose compilers interleave them with the loads; others run out of registers."""
        products = self.grid.height * self.grid.width * self.step
        if not self.interleaves and products * steps > MAX_UNROLLED_PRODUCTS:
            return loop(const(steps, "int32"), lambda k: self._step(k * self.step, self.step), name="k")
        room = max(1, MAX_UNROLLED_PRODUCTS // products)
        together = max(count for count in range(1, steps + 1) if steps % count == 0 and count <= room)

        def group(index: Any) -> Stmt:
            first = index * together
            return _counted(together, ForKind.UNROLLED, lambda k: self._step((first + k) * self.step, self.step), "k")

        return _counted(steps // together, ForKind.SERIAL, group, "k_group")

    def _step(self, k: Any, count: int) -> Stmt:
        return seq([self._load(self.a, k, count), self._load(self.b, k, count), self._products(count)])

    def _load(self, operand: _Operand, k: Any, count: int) -> Stmt:
        """Loads ``count`` elements along K, from ``k`` on, at all of the thread's indices across."""

        def element(time: Any, neighbour: Any, along: Any) -> Stmt:
            position = time * operand.together + neighbour
            index = operand.start + time * operand.distance + neighbour
            value = self._element(operand, index, k + along)
            return store(operand.registers, value, operand.register(position, along, self.step), self.call.span)

        times, together = operand.times, operand.together
        if operand.along_k:
            return _unrolled(times, lambda t: _unrolled(together, lambda v: _vector(count, lambda e: element(t, v, e))))
        return _unrolled(count, lambda e: _unrolled(times, lambda t: _vector(together, lambda v: element(t, v, e))))

    def _element(self, operand: _Operand, across: Any, along: Any) -> Expr:
        """The operand's element at these indices; 0 outside of it."""
        indices = (across, along) if operand.along_k else (along, across)
        value = load(operand.region.source, element_indices(operand.region, *indices), self.call.span)
        if operand.size is None:
            return value
        inside = across < const(operand.size, "int32")
        return tirx.if_then_else(inside, value, tirx.const(0, dtype_of(value)))

    def _products(self, count: int) -> Stmt:
        """The multiply-adds of ``count`` loaded elements along K."""

        def product(e: Any, i: Any, j: Any) -> Stmt:
            a = cast(load(self.a.registers, self.a.register(i, e, self.step)), self.total)
            b = cast(load(self.b.registers, self.b.register(j, e, self.step)), self.total)
            register = [i * self.grid.width + j]
            total = multiplied_into(load(self.accumulator.registers, register), a, b)
            return store(self.accumulator.registers, total, register, self.call.span)

        height, width = self.grid.height, self.grid.width
        if self.a.size is None and self.b.size is None:
            return _unrolled(count, lambda e: _unrolled(height, lambda i: _unrolled(width, lambda j: product(e, i, j))))

        # one branch for all products of an index: compilers take minutes for one around each product
        def of_column(i: Any, j: Any) -> Stmt:
            return where(self.b.inside(j), _unrolled(count, lambda e: product(e, i, j)))

        def of_row(i: Any) -> Stmt:
            return where(self.a.inside(i), _unrolled(width, lambda j: of_column(i, j)))

        return _unrolled(height, of_row)


def _unrolled(count: int, body: Any) -> Stmt:
    return loop(const(count, "int32"), body, kind=ForKind.UNROLLED)


def _counted(count: int, kind: ForKind, body: Any, name: str) -> Stmt:
    """The loop; its body alone where that runs once."""
    return loop(const(count, "int32"), body, name=name, kind=kind) if count > 1 else body(const(0, "int32"))


def _vector(count: int, body: Any) -> Stmt:
    """A loop over neighbours in memory, to be vectorized."""
    if count == 1:
        return body(const(0, "int32"))
    var = Var("e", "int32")
    return For(var, const(0, "int32"), const(count, "int32"), ForKind.VECTORIZED, body(var))


GEMM = TileOpImpl(
    "gemm",
    "multiply-adds",
    lower,
    matches,
    priority=10,
    late=True,
    layouts=layouts,
    fragments=fragments,
    last_resort=True,
)
IMPLEMENTATIONS = (GEMM,)
