"""gemm by ``wgmma``: warpgroups of 128 threads multiply tiles that lie in shared memory (A also in registers).

The instructions run on their own: they are issued here as one group, and ``wait_products`` puts the waits where
something needs them to be done. PTX ISA, "Asynchronous warpgroup level matrix multiply-accumulate".
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.hopper.blocks import CODES
from tile_cuda.lowering.hopper.group_product import GROUP, ROWS, GroupProduct, group_product_of, operand_blocks
from tilecore.ir.build import const, constant, load, loop, seq
from tilecore.ir.nodes import AllocBuffer, AttrStmt, Expr, ForKind, Stmt, TensorRegion, tirx
from tilecore.ir.regions import element_indices
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.implementation import TileOpImpl
from tilecore.lowering.passes import PassEnv
from tilecore.lowering.simt.infer_layouts import SHARED
from tilecore.lowering.simt.insert_barriers import NEST
from tilecore.lowering.simt.sums import Sums, is_held

PRODUCTS = "cuda.products"  # attribute: one group of products, as it is issued


def matches(call: TileCall, env: PassEnv) -> str | None:
    found = group_product_of(call, env, env.facts.get("threads"))
    return found if isinstance(found, str) else None


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    return {r.source: operand_blocks(r).layout for r in (call.a, call.b) if not is_fragment(r.source)}


def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
    p = group_product_of(call, env, threads)
    assert isinstance(p, GroupProduct)
    found: dict[Any, Any] = {r.source: SHARED for r in (call.a, call.b, call.c) if is_fragment(r.source)}
    if is_held(call.c):
        found[call.c.source] = p.layout_of_c()
    if is_held(call.a) and not call.transpose_a and not call.a.source.same_as(call.c.source):
        found[call.a.source] = p.layout_of_a()
    return found


def lower(call: TileCall, env: PassEnv) -> Stmt:
    return _Lowering(call, env).run()


class _Lowering:
    def __init__(self, call: TileCall, env: PassEnv) -> None:
        self.call, self.binding = call, env.facts["binding"]
        found = group_product_of(call, env, self.binding.threads)
        assert isinstance(found, GroupProduct)
        self.p = p = found
        group = self.binding.thread // GROUP
        self.row = group % p.along_m * (p.m_tiles * ROWS) if p.along_m > 1 else const(0, "int32")
        part = group // p.along_m if p.along_m > 1 else group
        self.column = part * (p.n_tiles * p.columns) if p.along_n > 1 else const(0, "int32")
        held = self.binding.registers[call.c.source] if is_held(call.c) else None
        self.sums = Sums(call, p.layout_of_c(), self.binding.thread, held, p.shape.c)

    def run(self) -> Stmt:
        before: list[Stmt] = [AllocBuffer(self.sums.registers)] if self.sums.is_apart else []
        group = seq([instructions.warpgroup("begin"), self._steps(), instructions.warpgroup("commit")])
        whole = AttrStmt(
            const(0, "int32"), NEST, const(1, "int32"), group, span=self.call.span
        )  # no barrier goes inside
        issued = AttrStmt(const(0, "int32"), PRODUCTS, const(1, "int32"), whole, span=self.call.span)
        return seq([*before, issued, *self.sums.after()])

    def _steps(self) -> Stmt:
        p = self.p

        def tiles(step: Any, rows: Any) -> Stmt:
            count = const(p.n_tiles, "int32")
            return loop(count, lambda j: self._one(step, rows, j), name="j", kind=ForKind.UNROLLED)

        def step_of(step: Any) -> Stmt:
            return loop(const(p.m_tiles, "int32"), lambda i: tiles(step, i), name="i", kind=ForKind.UNROLLED)

        return loop(const(p.steps, "int32"), step_of, name="step", kind=ForKind.UNROLLED)

    def _one(self, step: Any, i: Any, j: Any) -> Stmt:
        p, call = self.p, self.call
        sums = load(self.sums.registers, [(i * p.n_tiles + j) * p.sums])
        depth = step * p.shape.depth
        b = self._operand(call.b, bool(call.transpose_b), self.column + j * p.columns, depth)
        add, b_by_n = self._adds(step), not call.transpose_b
        if is_held(call.a) and not call.transpose_a:
            held = self.binding.registers[call.a.source]
            a = load(held, [(i * p.steps + step) * p.shape.operand_a.registers])
            return instructions.wgmma_held(p.name, b_by_n, sums, a, *b, add, span=call.span)
        a = self._operand(call.a, not call.transpose_a, self.row + i * ROWS, depth)
        return instructions.wgmma(p.name, bool(call.transpose_a), b_by_n, sums, *a, *b, add, span=call.span)

    def _adds(self, step: Any) -> Expr:
        """Does the instruction add to what is there? The first does not where the sums start from zero."""
        clear = constant(self.call.clear_accum)
        if self.sums.is_apart:
            clear = 1
        if clear == 0:
            return const(1, "bool")
        later = step > 0 if not isinstance(step, int) else const(step > 0, "bool")
        return later if clear else tirx.Or(later, tirx.Not(self.call.clear_accum))

    def _operand(self, region: TensorRegion, along_k: bool, across: Any, along: Any) -> list[Expr]:
        """Its first element, and the description's leading and stride distances and swizzle."""
        blocks = operand_blocks(region)
        places = (across, along) if along_k else (along, across)
        element = load(region.source, element_indices(region, *places), self.call.span)
        leading = 16 if along_k else blocks.bytes  # along K a step lies within a block
        return [element, *(const(n, "int32") for n in (leading, 8 * blocks.span, CODES[blocks.span]))]


WGMMA = TileOpImpl(
    "gemm", "wgmma", lower, matches, priority=30, late=True, needs_layouts=True, layouts=layouts, fragments=fragments
)
