"""Products of tiles by ``mma.sync`` that a kernel divides among its warps itself, step by step along K.

Each thread keeps its parts of the operands and of the result in T.alloc_local memory. Which elements they are is the
emitter's affair (lowering/shapes.py); the kernel only passes them on. T.gemm does all of it by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.lowering.shapes import Shape, shape_of
from tile_cuda.operations import KIND
from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.ir.build import const, load, store
from tilecore.ir.nodes import Call, Evaluate, For, ForKind, StringImm, TensorRegion, Var, tirx
from tilecore.ir.regions import element_indices
from tilecore.language.buffers import BufferHandle
from tilecore.language.conversions import convert
from tilecore.language.dialects import dialect_hints
from tilecore.language.kernel import open_kernel
from tilecore.language.regions import region_of
from tilecore.language.threads import thread_number
from tilecore.tracing.current import current

NAME = "TensorCoreIntrinEmitter"
TILE, HALF = 16, 8  # rows and columns of a tile; columns of one instruction
PAIR = 2  # neighbouring columns of the result that a thread has
ARCHITECTURE = 80  # whose instructions it uses


class TensorCoreIntrinEmitter:
    """Emits the product of a block: of ``block_row_warps`` x ``block_col_warps`` warps each computes
    ``warp_row_tiles`` x ``warp_col_tiles`` elements of C.

    a_dtype, b_dtype, accum_dtype: element types of A, B and the sums. a_transposed: A is [K, M], not [M, K].
    b_transposed: B is [N, K], not [K, N]. chunk: elements along K of the tiles in shared memory. warp_rows, warp_cols:
    tiles of 16 x 16 of a warp. local_size_a, local_size_b, local_size_out: elements of a thread for each. Raises
    UnsupportedError for types without an instruction, LanguageError for sizes that are not whole tiles.
    """

    def __init__(
        self,
        a_dtype: Any = "float16",
        b_dtype: Any = "float16",
        accum_dtype: Any = "float16",
        a_transposed: bool = False,
        b_transposed: bool = False,
        block_row_warps: int = 2,
        block_col_warps: int = 2,
        warp_row_tiles: int = 16,
        warp_col_tiles: int = 16,
        chunk: int = 16,
    ) -> None:
        kinds = [str(DType(kind)) for kind in (a_dtype, b_dtype, accum_dtype)]
        shape = shape_of(kinds[0], kinds[1], kinds[2], chunk, ARCHITECTURE)
        if shape is None or shape.rows != TILE or shape.columns != HALF:
            raise UnsupportedError(
                f"{NAME} has no instruction for {kinds[0]}, {kinds[1]} into {kinds[2]}", hint="T.gemm"
            )
        if warp_row_tiles % TILE or warp_col_tiles % TILE or chunk % shape.depth:
            raise LanguageError(
                f"{NAME} divides a product that is not whole tiles",
                found=f"warp_row_tiles={warp_row_tiles}, warp_col_tiles={warp_col_tiles}, chunk={chunk}",
                expected=f"multiples of {TILE}, {TILE} and {shape.depth}",
            )
        self.shape: Shape = shape
        self.a_transposed, self.b_transposed, self.chunk = a_transposed, b_transposed, chunk
        self.block_row_warps, self.block_col_warps = block_row_warps, block_col_warps
        self.warp_row_tiles, self.warp_col_tiles = warp_row_tiles, warp_col_tiles
        self.warp_rows = self.mma_num_inst_m = warp_row_tiles // TILE
        self.warp_cols = self.mma_num_inst_n = warp_col_tiles // TILE
        self.micro_size_x, self.micro_size_y, self.micro_size_k = TILE, TILE, shape.depth
        self.local_size_a = self.local_size_b = TILE * shape.depth // WARP
        self.local_size_out = TILE * TILE // WARP
        self.threads = WARP * block_row_warps * block_col_warps

    def ldmatrix_a(self, A_local_buf: Any, A_shared_buf: Any, ki: Any, rk: Any = 0) -> None:
        """Loads a thread's elements of step ``ki`` along K of the tile A. rk: the chunk of ``chunk`` elements."""
        rows = [self._of_warp(0) + const(i * TILE, "int32") for i in range(self.warp_rows)]
        parts = [
            (row + self._group() + const(HALF * (word % 2), "int32"), word // 2) for row in rows for word in range(4)
        ]
        self._load(A_local_buf, A_shared_buf, parts, ki, rk, self.a_transposed)

    def ldmatrix_b(self, B_local_buf: Any, B_shared_buf: Any, ki: Any, rk: Any = 0) -> None:
        """Loads a thread's elements of step ``ki`` along K of the tile B."""
        columns = [self._of_warp(1) + const(j * HALF, "int32") for j in range(2 * self.warp_cols)]
        parts = [(column + self._group(), word) for column in columns for word in range(2)]
        self._load(B_local_buf, B_shared_buf, parts, ki, rk, not self.b_transposed)

    def mma(self, A_local_buf: Any, B_local_buf: Any, C_local_buf: Any, k_inner: Any = 0) -> None:
        """Adds the products of the loaded parts to the thread's part of C. k_inner: has no effect."""
        for i in range(self.warp_rows):
            for j in range(self.warp_cols):
                self.mma_atom(A_local_buf, B_local_buf, C_local_buf, i, j)

    def mma_atom(
        self, A_local_buf: Any, B_local_buf: Any, C_local_buf: Any, inst_m_idx: Any, inst_n_idx: Any, k_inner: Any = 0
    ) -> None:
        """The product for one tile of 16 x 16 of the warp."""
        a, b, c = (self._memory(x) for x in (A_local_buf, B_local_buf, C_local_buf))
        i, j = convert(inst_m_idx, "int32"), convert(inst_n_idx, "int32")
        tile = i * const(self.warp_cols, "int32") + j
        builder = current(NAME)
        for half in range(2):
            operands = [
                load(c, [tile * const(self.local_size_out, "int32") + const(half * self.local_size_out // 2, "int32")]),
                load(a, [i * const(self.local_size_a, "int32")]),
                load(b, [j * const(self.local_size_b, "int32") + const(half * self.local_size_b // 2, "int32")]),
            ]
            hints = dialect_hints(KIND, f"{NAME}.mma")
            call = Call(instructions.MMA, [StringImm(self.shape.name), *operands], attrs=hints, ret_ty="void")
            builder.emit(Evaluate(call, span=builder.span))

    def stmatrix(self, C_local_buf: Any, C_buf: Any, pid_m: Any = None, pid_n: Any = None) -> None:
        """Stores a thread's part of C, converted to the element type of ``C_buf``.

        C_buf: a buffer [M / 16, N / 16, 16, 16], or with pid_m and pid_n the indices of the block, [M, N].
        """
        local, target = self._memory(C_local_buf), region_of(C_buf, f"{NAME}.stmatrix")
        builder = current(NAME)
        for i in range(self.warp_rows):
            for j in range(2 * self.warp_cols):
                for word in range(2):
                    row = self._of_warp(0) + self._group() + const(i * TILE + word * HALF, "int32")
                    column = self._of_warp(1) + self._within() * const(PAIR, "int32") + const(j * HALF, "int32")
                    first = ((i * 2 * self.warp_cols) + j) * self.local_size_out // 2 + word * PAIR
                    var = Var("e", "int32")
                    value = convert(load(local, [const(first, "int32") + var]), str(target.source.dtype))
                    where = self._place_in_c(target, row, column + var, pid_m, pid_n)
                    builder.emit(self._vectorized(var, PAIR, store(target.source, value, where, builder.span)))

    # -- pieces ---------------------------------------------------------------------------------------------------

    def _load(self, local: Any, shared: Any, parts: Sequence[tuple[Any, int]], ki: Any, rk: Any, across: bool) -> None:
        """parts: (place along M or N, number of the word along K) of each word. across: the tile is [K, M] or [K, N].

        Words are loaded one by one, whatever the layout of the tile in shared memory.
        """
        target, region = self._memory(local), region_of(shared, NAME)
        builder, word = current(NAME), self.shape.word
        first = convert(rk, "int32") * const(self.chunk, "int32") + convert(ki, "int32") * const(
            self.shape.depth, "int32"
        )
        for number, (place, word_along_k) in enumerate(parts):
            var = Var("e", "int32")
            along = first + const(4 * word * word_along_k, "int32") + self._within() * const(word, "int32") + var
            where = element_indices(region, *((along, place) if across else (place, along)))
            value = load(region.source, where)
            to = [const(number * word, "int32") + var]
            builder.emit(self._vectorized(var, word, store(target, value, to, builder.span)))

    def _vectorized(self, var: Var, count: int, body: Any) -> For:
        zero, extent = const(0, "int32"), const(count, "int32")
        return For(var, zero, extent, ForKind.VECTORIZED, body, span=current(NAME).span)

    def _memory(self, buffer: Any) -> Var:
        if not isinstance(buffer, BufferHandle) or buffer.ndim != 1:
            raise LanguageError(f"{NAME} takes memory of a thread", expected="T.alloc_local(size, dtype), of one axis")
        return buffer.buffer

    def _thread(self) -> Any:
        return thread_number(open_kernel(NAME))

    def _group(self) -> Any:
        """Of a lane: which of the 8 rows, or columns, it has."""
        return tirx.floordiv(tirx.floormod(self._thread(), const(WARP, "int32")), const(4, "int32"))

    def _within(self) -> Any:
        """Of a lane: its place among the 4 lanes of a row."""
        return tirx.floormod(self._thread(), const(4, "int32"))

    def _of_warp(self, axis: int) -> Any:
        """Where the warp's part of C begins, along M (0) or N (1)."""
        warp = tirx.floordiv(self._thread(), const(WARP, "int32"))
        rows = const(self.block_row_warps, "int32")
        if axis == 0:
            return tirx.floormod(warp, rows) * const(self.warp_row_tiles, "int32")
        return tirx.floordiv(warp, rows) * const(self.warp_col_tiles, "int32")

    def _place_in_c(self, region: TensorRegion, row: Any, column: Any, pid_m: Any, pid_n: Any) -> list[Any]:
        if pid_m is not None and pid_n is not None:
            height, width = self.block_row_warps * self.warp_row_tiles, self.block_col_warps * self.warp_col_tiles
            row = convert(pid_m, "int32") * const(height, "int32") + row
            column = convert(pid_n, "int32") * const(width, "int32") + column
            return element_indices(region, row, column)
        if len(region.region) != 4:
            raise LanguageError(
                f"{NAME}.stmatrix stores to a buffer without pid_m and pid_n",
                found=f"{region.source.name} of {len(region.region)} axes",
                expected=f"a buffer [M / {TILE}, N / {TILE}, {TILE}, {TILE}]",
            )
        size = const(TILE, "int32")
        places = [op(x, size) for op in (tirx.floordiv, tirx.floormod) for x in (row, column)]
        return [r.min + place for r, place in zip(region.region, places, strict=True)]
