"""The sums of a gemm with tile registers (amx_product.py): how they start, where they wait between two chunks of K, and
how they end: stored as they are, or rounded tile by tile into a tensor of narrower floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.backends.cpu import amx_calls as tiles
from tilecore.backends.cpu.amx_operands import (
    ROW_BYTES,
    SIDE,
    STRIP,
    ZERO,
    block_buffer,
    halves,
    pitch,
    sums_of,
)
from tilecore.backends.cpu.target import features_in
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import cast, constant, dtype_of, load, loop, seq, store
from tilecore.ir.nodes import AllocBuffer, BufferLoad, BufferStore, ForKind, IfThenElse, IntImm, Ramp, Stmt, Var
from tilecore.ir.regions import element_indices
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.loops.lane_ops import raw_load
from tilecore.lowering.loops.prefetch import LINE, prefetch
from tilecore.lowering.loops.register_tiles import is_in_place

LEAST_STEPS_OF_PREFETCH = 8  # along K, for prefetches of C to pay

Accumulators = Sequence[tuple[int, int]]
"""Those that the rows and columns fill, of 2 x 2: register 2 i + j has rows from 16 i and columns from 16 j."""


class Sums:
    """waits: whether they wait between chunks, of ``panels`` panels. steps: whole ones along K."""

    def __init__(self, call: TileCall, env: PassEnv, waits: bool, panels: int, steps: int) -> None:
        self.call, self.dtype, self.steps = call, sums_of(call), steps
        self.pitch = pitch(call, env, "c")
        self.are_rounded = CallAttr.SUMS in call.hints
        self.rounds_pairs = dtype_of(call.c.source) == "bfloat16" and "avx512bf16" in features_in(env.target)
        # [panel, register, row, column], and the sums of a tile that are rounded next
        self.waiting: Var | None = block_buffer([panels, 4, SIDE, SIDE], self.dtype, "waiting") if waits else None
        self.tile: Var | None = block_buffer([STRIP, STRIP], self.dtype, "tile") if self.are_rounded else None

    def buffers(self) -> list[Stmt]:
        """Their allocations."""
        return [AllocBuffer(buffer) for buffer in (self.waiting, self.tile) if buffer is not None]

    def start(self, m0: Any, n0: Any, sums: Accumulators) -> list[Stmt]:
        clear = constant(self.call.clear_accum)
        zeros = [tiles.zero(2 * i + j) for i, j in sums]
        if self.are_rounded:
            return zeros
        old = [tiles.load(2 * i + j, self._c(m0 + i * SIDE, n0 + j * SIDE), self.pitch) for i, j in sums]
        if clear is None:
            return [IfThenElse(self.call.clear_accum, seq(zeros), seq(old))]
        return zeros if clear else old

    def keep(self, panel: Any, sums: Accumulators) -> list[Stmt]:
        """Behind a chunk."""
        return [tiles.store(2 * i + j, self._waiting(panel, i, j), ROW_BYTES) for i, j in sums]

    def take_back(self, panel: Any, sums: Accumulators) -> list[Stmt]:
        """In front of the next chunk."""
        return [tiles.load(2 * i + j, self._waiting(panel, i, j), ROW_BYTES) for i, j in sums]

    def finish(self, m0: Any, n0: Any, rows: int, columns: int, sums: Accumulators) -> list[Stmt]:
        if not self.are_rounded:
            return [tiles.store(2 * i + j, self._c(m0 + i * SIDE, n0 + j * SIDE), self.pitch) for i, j in sums]
        row_bytes = STRIP * DType(self.dtype).bytes
        kept = [tiles.store(2 * i + j, BufferLoad(self.tile, [i * SIDE, j * SIDE]), row_bytes) for i, j in sums]

        def row(i: Any) -> Stmt:
            return seq([self._rounded(m0, n0, i, j, width) for j, width in enumerate(halves(columns)) if width])

        return [*kept, loop(IntImm("int32", rows), row, name="i")]

    def lines(self, m0: Any, n0: Any, rows: int, columns: int) -> list[Stmt]:
        """Where C is a tensor that is added to, its lines are fetched while the products run. Rounded sums are half as
        many, and wait for no load."""
        if not is_in_place(self.call, "c") or self.are_rounded or self.steps < LEAST_STEPS_OF_PREFETCH:
            return []
        elements = LINE // DType(self.dtype).bytes
        where = [element_indices(self.call.c, m0 + i, n0 + j) for i in range(rows) for j in range(0, columns, elements)]
        return [prefetch(self.call.c.source, indices, 1) for indices in where]

    def _rounded(self, m0: Any, n0: Any, i: Any, half: int, width: int) -> Stmt:
        """Rounds up to 16 sums of row ``i`` of the tile into the tensor. Those of bfloat16 are never denormal, as
        TDPBF16PS makes zeros of such numbers; VCVTNEPS2BF16 would, too."""
        first, target = half * SIDE, self.call.c.source
        if self.rounds_pairs and width == SIDE:
            where = element_indices(self.call.c, m0 + i, n0 + first)
            where[-1] = Ramp(where[-1], IntImm("int32", 1), SIDE)
            sums = raw_load(BufferLoad(self.tile, [i, IntImm("int32", first)]), f"{self.dtype}x{SIDE}")
            return BufferStore(target, tiles.rounded_to_bfloat16(sums, SIDE), where, span=self.call.span)

        def element(j: Any) -> Stmt:
            value = cast(load(self.tile, [i, first + j]), dtype_of(target))
            return store(target, value, element_indices(self.call.c, m0 + i, n0 + first + j), self.call.span)

        return loop(IntImm("int32", width), element, name="j", kind=ForKind.VECTORIZED)

    def _waiting(self, panel: Any, i: int, j: int) -> BufferLoad:
        return BufferLoad(self.waiting, [panel, IntImm("int32", 2 * i + j), ZERO, ZERO])

    def _c(self, m: Any, n: Any) -> BufferLoad:
        return BufferLoad(self.call.c.source, element_indices(self.call.c, m, n))
