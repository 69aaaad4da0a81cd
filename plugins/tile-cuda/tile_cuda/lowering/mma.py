"""gemm by ``mma.sync``: every warp multiplies its part of C, operands step by step along K in registers.

What is emitted is the loop over steps, marked; ``schedule_products`` decides when each step's operands are loaded.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.operands import OperandLoader
from tile_cuda.lowering.product import Product, product_of
from tile_cuda.lowering.schedule_products import GEMM, OPERANDS
from tile_cuda.lowering.swizzle import swizzled
from tile_cuda.lowering.warps import WARP
from tilecore.ir.build import const, constant, dtype_of, load, loop, seq, store
from tilecore.ir.fragments import REGISTER, THREAD, resized, tiled
from tilecore.ir.nodes import AllocBuffer, AttrStmt, Expr, For, ForKind, IfThenElse, Stmt, Var, tirx
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.implementation import TileOpImpl
from tilecore.lowering.passes import PassEnv
from tilecore.lowering.simt.partition import is_fragment


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
    found = {call.c.source: tiled(p.shape.accumulator, repeats, (p.m, p.n))}
    if is_fragment(call.a.source):
        along = [(1, p.steps, REGISTER), (0, p.m_tiles, REGISTER), (0, p.along_m, THREAD)]
        found[call.a.source] = resized(tiled(p.shape.operand_a, along, (p.m, p.k)), threads)  # copies along N
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
        warp = self.binding.thread // WARP
        row = warp % self.p.along_m * (self.p.m // self.p.along_m)
        column = warp // self.p.along_m * (self.p.n // self.p.along_n)
        self.c = self.binding.registers[call.c.source]
        self.loader = OperandLoader(call, self.p, self.binding.thread % WARP, row, column)

    def run(self) -> Stmt:
        step = Var("step", "int32")
        operands = seq([*([] if self.a_is_held else [self.loader.load_a(step)]), self.loader.load_b(step)])
        body = seq([AttrStmt(const(0, "int32"), OPERANDS, const(1, "int32"), operands), self._multiply(step)])
        steps: Stmt = For(step, const(0, "int32"), const(self.p.steps, "int32"), ForKind.UNROLLED, body)
        owned = [] if self.a_is_held else [AllocBuffer(self.loader.a)]
        made = seq([*self._clear(), *owned, AllocBuffer(self.loader.b), steps])
        return AttrStmt(const(0, "int32"), GEMM, const(1, "int32"), made, span=self.call.span)

    @property
    def a_is_held(self) -> bool:
        """Does A lie in registers already?"""
        return is_fragment(self.call.a.source)

    def _clear(self) -> list[Stmt]:
        known = constant(self.call.clear_accum)
        if known == 0:
            return []
        zero, count = tirx.const(0, dtype_of(self.c)), const(int(self.c.shape[0]), "int32")
        made = loop(count, lambda i: store(self.c, zero, [i]), kind=ForKind.UNROLLED)
        return [made if known else IfThenElse(self.call.clear_accum, made, None)]

    def _multiply(self, step: Var) -> Stmt:
        shape = self.p.shape

        def place_of_a(i: Any) -> Expr:
            if self.a_is_held:
                held = self.binding.registers[self.call.a.source]
                return load(held, [(i * self.p.steps + step) * shape.a_elements])
            return self.loader.register_a(step, i)

        def one(i: Any, j: Any) -> Stmt:
            c = load(self.c, [(i * self.p.n_tiles + j) * shape.c_elements])
            return instructions.mma(shape.name, c, place_of_a(i), self.loader.register_b(step, j), self.call.span)

        def row(i: Any) -> Stmt:
            return loop(const(self.p.n_tiles, "int32"), lambda j: one(i, j), name="j", kind=ForKind.UNROLLED)

        return loop(const(self.p.m_tiles, "int32"), row, name="i", kind=ForKind.UNROLLED)


MMA_SYNC = TileOpImpl("gemm", "mma.sync", lower, matches, priority=20, late=True, layouts=layouts, fragments=fragments)
