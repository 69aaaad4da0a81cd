"""gemm with the processor's dot-product instructions: pairs of bfloat16 or int16, groups of four int8.

B lies in panels with the 2 (or 4) neighbours along K of one column side by side; one instruction multiplies them with
as many neighbours along K of a row of A, broadcast, and adds the products to 16 accumulators.
Intel 64 and IA-32 architectures SDM, volume 2: VDPBF16PS, VPDPBUSD, VPMADDWD.
"""

from __future__ import annotations

from typing import Any

from tilecore.backends.cpu.grouped_panels import grouped_panels
from tilecore.backends.cpu.target import features_in
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import constant, dtype_of, load, loop, seq, store
from tilecore.ir.layout import BufferLayout, of_each_tile
from tilecore.ir.nodes import (
    AllocBuffer,
    Broadcast,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    IntImm,
    Ramp,
    Stmt,
    Var,
    tirx,
)
from tilecore.ir.regions import element_indices, is_whole_tile
from tilecore.ir.register_call import register_call
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.loops.lane_ops import across_lanes, raw_load
from tilecore.lowering.loops.prefetch import portion
from tilecore.lowering.loops.register_tiles import (
    INT16_PAIRS,
    Piece,
    balanced,
    is_hoisted,
    pieces,
    rows_apart,
    vector_bits,
)
from tilecore.lowering.tile_ops.gemm import Operands, needs_constant_sizes

LANES = 16
ROWS = {4: 6, 2: 8}  # of a register tile, by the vectors of a row
ROWS_OF_FEW_REGISTERS = 6
BFLOAT16_PAIRS = "bfloat16 pairs"
# (accumulators, 16 words of A, 16 words of B): adds the products of the pairs or groups in the words
DOT_BFLOAT16 = register_call("cpu.dot_bfloat16", pure=True)
DOT_UINT8_INT8 = register_call("cpu.dot_uint8_int8", pure=True)
# (words of A, words of B): the sums of the products of the pairs in the words
DOT_INT16 = register_call("cpu.dot_int16", pure=True)


def lanes_of(env: PassEnv) -> int:
    """Lanes of 32 bits of a vector register."""
    return vector_bits(env) // 32


def vectors_of(columns: int, env: PassEnv) -> int:
    """Vectors of a row of a register tile, and of B's panels, of which the columns are a multiple: the target's fact
    ``tile_vectors`` says which is best."""
    lanes, most = lanes_of(env), int(env.target.get("tile_vectors", 2) or 2)
    return most if lanes == LANES and most in ROWS and columns % (most * lanes) == 0 else 2


class Kind:
    """One of the instructions: element types, group size, and the feature that the processor needs, by the width of its
    vector registers."""

    def __init__(self, name: str, a: tuple[str, ...], b: str, c: str, group: int, features: dict[int, str]) -> None:
        self.name, self.a, self.b, self.c, self.group, self.features = name, a, b, c, group, features

    def matches(self, call: TileCall, env: PassEnv) -> str | None:
        features = features_in(env.target)
        if self.features.get(vector_bits(env)) not in features:
            return f"the processor lacks {' or '.join(self.features.values())} on vectors of {vector_bits(env)} bits"
        if self.name == BFLOAT16_PAIRS and env.target.get("bfloat16") == "widened":
            return "the processor multiplies float32 faster than pairs of bfloat16"
        kinds = dtype_of(call.a.source), dtype_of(call.b.source), dtype_of(call.c.source)
        if kinds[0] not in self.a or kinds[1:] != (self.b, self.c):
            return f"element types {', '.join(kinds)}, not {'/'.join(self.a)}, {self.b}, {self.c}"
        return needs_constant_sizes(call, env) or self._shapes(call, 2 * lanes_of(env))

    def _shapes(self, call: TileCall, width: int) -> str | None:
        operands = Operands(call)
        if call.transpose_a:
            return "A is transposed: its neighbours along K do not lie together"
        if operands.k % self.group or operands.n % width:
            return f"K is no multiple of {self.group} or N none of {width}"
        first = constant(call.a.region[-1].min)
        if first is None or first % self.group:
            return f"A starts at no multiple of {self.group} along K"
        if not is_whole_tile(call.b):
            return "B is a part of a buffer"
        if call.b.source.same_as(call.a.source):
            return "A and B are one buffer"
        if is_global(call.a.source) and not is_hoisted(call, "a"):
            return "A is a tensor that the kernel multiplies without a copy"
        return None

    def layouts(self, call: TileCall, env: PassEnv) -> dict[Any, BufferLayout]:
        *tiles, rows, columns = (int(s) for s in call.b.source.shape)
        moved = dtype_of(call.a.source) == "int8"
        width = vectors_of(Operands(call).n, env) * lanes_of(env)
        panels = grouped_panels(rows, columns, self.group, bool(call.transpose_b), moved, width)
        granted = {call.b.source: of_each_tile(panels, tiles)}
        for name, region in (("a", call.a), ("c", call.c)):  # whose neighbours along a row lie together
            if not is_global(region.source) or is_hoisted(call, name):
                granted[region.source] = rows_apart(region.source)
        return granted


BFLOAT16 = Kind(BFLOAT16_PAIRS, ("bfloat16",), "bfloat16", "float32", 2, {512: "avx512bf16"})
INT8 = Kind("int8 groups of four", ("uint8", "int8"), "int8", "int32", 4, {512: "avx512vnni"})
INT16 = Kind(INT16_PAIRS, ("int16",), "int16", "int32", 2, {512: "avx512bw", 256: "avx2"})


class _Dot:
    """Lowers one gemm; all vectors have lanes of 32 bits."""

    def __init__(self, call: TileCall, kind: Kind, env: PassEnv) -> None:
        self.call = call
        self.kind = kind
        self.lanes = lanes_of(env)
        self.o = Operands(call)
        self.vectors = vectors_of(self.o.n, env)
        self.width = self.vectors * self.lanes
        self.most_rows = ROWS[self.vectors] if self.lanes == LANES else ROWS_OF_FEW_REGISTERS
        self.vector = f"{kind.c}x{self.lanes}"
        self.words = self.o.k // kind.group
        # signed times signed is done as a * (b + 128) - 128 * a: the instruction takes one factor unsigned
        self.offset = kind is INT8 and dtype_of(call.a.source) == "int8"

    def lower(self) -> Stmt:
        before, sums = self._row_sums() if self.offset else ([], None)

        def columns(ni: Any) -> Stmt:
            def rows(p: Piece) -> Stmt:
                def tile(mi: Any) -> Stmt:
                    count = p.count * (self.o.n // self.width)
                    ahead = [] if p.start else portion(self.call, ni * p.count + mi, count)
                    return seq([*ahead, self._tile(p.start + mi * p.width, ni, p.width, sums)])

                return loop(IntImm("int32", p.count), tile, name="mi")

            return seq([rows(p) for p in pieces(self.o.m, balanced(self.o.m, self.most_rows))])

        return seq([*before, loop(IntImm("int32", self.o.n // self.width), columns, name="ni")])

    # -- operands ---------------------------------------------------------------------------------------------

    def _b(self, word: Any, ni: Any, part: int) -> Expr:
        k, n = word * self.kind.group, ni * self.width + part * self.lanes
        at = (n, k) if self.call.transpose_b else (k, n)
        return raw_load(self.o._element(self.call.b, at), f"int32x{self.lanes}")

    def _a(self, m: Any, word: Any) -> Expr:
        return Broadcast(raw_load(self.o._element(self.call.a, (m, word * self.kind.group)), "int32"), self.lanes)

    def _dot(self, total: Expr, a: Expr, b: Expr) -> Expr:
        if self.kind is BFLOAT16:
            return Call(DOT_BFLOAT16, [total, a, b], ret_ty=self.vector)
        if self.kind is INT16:
            return total + Call(DOT_INT16, [a, b], ret_ty=self.vector)
        return Call(DOT_UINT8_INT8, [total, *((b, a) if self.offset else (a, b))], ret_ty=self.vector)

    def _zero(self) -> Expr:
        return Broadcast(tirx.const(0, self.kind.c), self.lanes)

    # -- the tile ---------------------------------------------------------------------------------------------

    def _row_sums(self) -> tuple[list[Stmt], Var]:
        """128 times the sum of each row of A."""
        sums = tirx.decl_buffer([self.o.m], "int32", "row_sums", scope="local", layout=None)
        total = tirx.decl_buffer([1], self.vector, "total", scope="local", layout=None)
        unit_bytes = Broadcast(tirx.const(0x01010101, "int32"), self.lanes)
        whole, rest = divmod(self.words, self.lanes)

        def row(m: Any) -> Stmt:
            def add(a: Expr) -> Stmt:
                return BufferStore(total, self._dot(load(total, [0]), a, unit_bytes), [0])

            def vector(number: Any) -> Stmt:
                return add(raw_load(self.o._element(self.call.a, (m, number * self.lanes * 4)), f"int32x{self.lanes}"))

            steps: list[Stmt] = [BufferStore(total, self._zero(), [0])]
            if whole:
                steps.append(loop(IntImm("int32", whole), vector, name="k"))
            # the words behind the last whole vector, each in the first lane of one
            first = Ramp(tirx.const(0, "int32"), tirx.const(1, "int32"), self.lanes)
            for word in range(whole * self.lanes, whole * self.lanes + rest):
                steps.append(add(tirx.Select(first < 1, self._a(m, word), self._zero())))
            steps.append(store(sums, across_lanes(load(total, [0]), "sum") * 128, [m], self.call.span))
            return seq(steps)

        return [AllocBuffer(sums), AllocBuffer(total), loop(IntImm("int32", self.o.m), row, name="m")], sums

    def _tile(self, m0: Any, ni: Any, rows: int, sums: Var | None) -> Stmt:
        count = self.vectors
        acc = tirx.decl_buffer([rows * count], self.vector, "acc", scope="local", layout=None)
        places = [(i, h) for i in range(rows) for h in range(count)]

        def step(word: Any) -> Stmt:
            parts: list[Stmt] = []
            b = [self._b(word, ni, h) for h in range(count)]
            for i, h in places:
                total = self._dot(load(acc, [count * i + h]), self._a(m0 + i, word), b[h])
                parts.append(store(acc, total, [count * i + h], self.call.span))
            return seq(parts)

        begin = [BufferStore(acc, self._start(m0 + i, ni, h, sums), [count * i + h]) for i, h in places]
        end = [self._store_c(m0 + i, ni, h, load(acc, [count * i + h])) for i, h in places]
        return seq([AllocBuffer(acc), *begin, loop(IntImm("int32", self.words), step, name="k"), *end])

    def _c(self, m: Any, ni: Any, part: int) -> list[Any]:
        where = element_indices(self.call.c, m, ni * self.width + part * self.lanes)
        where[-1] = Ramp(where[-1], tirx.const(1, "int32"), self.lanes)
        return where

    def _start(self, m: Any, ni: Any, part: int, sums: Var | None) -> Expr:
        clear = constant(self.call.clear_accum)
        old = BufferLoad(self.call.c.source, self._c(m, ni, part))
        if clear is None:
            value = tirx.if_then_else(self.call.clear_accum, self._zero(), old)
        else:
            value = self._zero() if clear else old
        if sums is None:
            return value
        return value - Broadcast(load(sums, [m]), self.lanes)

    def _store_c(self, m: Any, ni: Any, part: int, value: Expr) -> Stmt:
        return BufferStore(self.call.c.source, value, self._c(m, ni, part), span=self.call.span)


def _implementation(kind: Kind) -> TileOpImpl:
    def lower(call: TileCall, env: PassEnv) -> Stmt:
        return _Dot(call, kind, env).lower()

    return TileOpImpl("gemm", kind.name, lower, kind.matches, priority=10, needs_layouts=True, layouts=kind.layouts)


IMPLEMENTATIONS = tuple(_implementation(kind) for kind in (BFLOAT16, INT8, INT16))
