"""gemm by ``wgmma``: warpgroups of 128 threads multiply tiles that lie in shared memory (A also in registers).

The instructions run on their own: they are issued here as one group, and ``wait_wgmma`` puts the waits where
something needs them to be done. PTX ISA, "Asynchronous warpgroup level matrix multiply-accumulate".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.hopper.column_blocks import CODES, PIECE
from tile_cuda.lowering.hopper.wgmma_config import GROUP, ROWS, WgmmaConfig, operand_blocks, wgmma_config_of
from tile_cuda.operations import FENCE_OPERAND, WGMMA_GEMM
from tilecore.contract.implementation import SHARED, TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import const, constant, load, seq
from tilecore.ir.nodes import AllocBuffer, AttrStmt, Bind, Expr, Stmt, TensorRegion, Var, tirx
from tilecore.ir.regions import element_indices
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall
from tilecore.ir.visit import collect
from tilecore.lowering.simt.insert_barriers import NEST
from tilecore.lowering.simt.note_ranges import threads_of_call
from tilecore.lowering.simt.tile_ops.accumulators import Sums, is_held

PRODUCTS = "cuda.products"  # attribute: one group of products, as it is issued
UNWAITED = 2  # its value where the kernel itself waits for them


def issues_products(body: Stmt) -> bool:
    return any(node.attr_key == PRODUCTS for node in collect(body, AttrStmt))


def matches(call: TileCall, env: PassEnv) -> str | None:
    found = wgmma_config_of(call, env, threads_of_call(call, env))
    return found if isinstance(found, str) else None


def matches_explicit(call: TileCall, env: PassEnv) -> str | None:
    if not is_held(call.c):
        return f"its sums are in {call.c.source.scope()} memory and not in a fragment of their own"
    return matches(call, env)


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    return {r.source: operand_blocks(r).layout for r in (call.a, call.b) if not is_fragment(r.source)}


def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
    p = wgmma_config_of(call, env, threads)
    assert isinstance(p, WgmmaConfig)
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
        found = wgmma_config_of(call, env, self.binding.threads)
        assert isinstance(found, WgmmaConfig)
        self.p = p = found
        group = instructions.uniform(self.binding.thread // GROUP)
        self.row = group % p.along_m * (p.m_tiles * ROWS) if p.along_m > 1 else const(0, "int32")
        part = group // p.along_m if p.along_m > 1 else group
        self.column = part * (p.n_tiles * p.columns) if p.along_n > 1 else const(0, "int32")
        a_held = is_held(call.a) and not call.transpose_a
        self.a = None if a_held else self._operand("a_tile", call.a, not call.transpose_a, self.row)
        self.b = self._operand("b_tile", call.b, bool(call.transpose_b), self.column)
        held = self.binding.registers[call.c.source] if is_held(call.c) else None
        self.sums = Sums(call, p.layout_of_c(), self.binding.thread, held, p.shape.c)

    def _operand(self, name: str, region: TensorRegion, along_k: bool, across: Any) -> _Operand:
        return _Operand(name, region, along_k, across, self.p.shape.depth, self.call.span)

    def run(self) -> Stmt:
        before: list[Stmt] = [AllocBuffer(self.sums.registers)] if self.sums.is_apart else []
        described = [bind for operand in (self.a, self.b) if operand is not None for bind in operand.bind()]
        group = seq([instructions.warpgroup("begin"), *self._products(), instructions.warpgroup("commit")])
        whole = AttrStmt(const(0, "int32"), NEST, const(1, "int32"), seq([*described, group]), span=self.call.span)
        who = UNWAITED if self.call.op.name == WGMMA_GEMM.name else 1
        issued = AttrStmt(const(0, "int32"), PRODUCTS, const(who, "int32"), whole, span=self.call.span)
        return seq([*before, issued, *self.sums.after()])  # within NEST no barrier is put

    def _products(self) -> list[Stmt]:
        p = self.p
        places = [(step, i, j) for step in range(p.steps) for i in range(p.m_tiles) for j in range(p.n_tiles)]
        return [self._one(*place) for place in places]

    def _one(self, step: int, i: int, j: int) -> Stmt:
        p, call = self.p, self.call
        sums = load(self.sums.registers, [const((i * p.n_tiles + j) * p.sums, "int32")])
        b = self.b.at(step, j * p.columns)
        add, b_by_n = self._adds(step), not call.transpose_b
        if self.a is None:
            held = self.binding.registers[call.a.source]
            a = load(held, [const((i * p.steps + step) * p.shape.operand_a.registers, "int32")])
            return instructions.wgmma_held(p.name, b_by_n, sums, a, b, add, span=call.span)
        a = self.a.at(step, i * ROWS)
        return instructions.wgmma(p.name, bool(call.transpose_a), b_by_n, sums, a, b, add, span=call.span)

    def _adds(self, step: int) -> Expr:
        """Does the instruction add to what is there? The first does not where the sums start from zero."""
        clear = 1 if self.sums.is_apart else constant(self.call.clear_accum)
        if step > 0 or clear == 0:
            return const(1, "bool")
        return const(0, "bool") if clear else tirx.Not(self.call.clear_accum)


class _Operand:
    """A tile in shared memory, described once; instructions look at it some pieces of 16 bytes further on.

    across: where the warpgroup's part begins along M or N.
    """

    def __init__(self, name: str, region: TensorRegion, along_k: bool, across: Any, depth: int, span: Any) -> None:
        self.region, self.along_k, self.across, self.depth, self.span = region, along_k, across, depth, span
        self.blocks = operand_blocks(region)
        self.var = Var(name, "uint64")

    def bind(self) -> list[Stmt]:
        zero = const(0, "int32")
        places = (self.across, zero) if self.along_k else (zero, self.across)
        element = load(self.region.source, element_indices(self.region, *places), self.span)
        leading = 16 if self.along_k else self.blocks.bytes  # along K an instruction's part lies within a block
        return [Bind(self.var, instructions.operand(element, leading, 8 * self.blocks.span, CODES[self.blocks.span]))]

    def at(self, step: int, across: int) -> Expr:
        """The part of an instruction: step ``step`` along K, ``across`` elements further along M or N."""
        row, column = (across, step * self.depth) if self.along_k else (step * self.depth, across)
        blocks = self.blocks
        inside = column % blocks.columns * blocks.span // blocks.columns
        offset = column // blocks.columns * blocks.bytes + row * blocks.span + inside
        return instructions.operand_at(self.var, offset // PIECE)


WGMMA = TileOpImpl(
    "gemm", "wgmma", lower, matches, priority=30, late=True, needs_layouts=True, layouts=layouts, fragments=fragments
)
EXPLICIT_WGMMA = replace(WGMMA, op=WGMMA_GEMM.name, matches=matches_explicit)


def lower_fence(call: TileCall, env: PassEnv) -> Stmt:
    held = env.facts["binding"].registers[call.buffer.source]
    return instructions.settle(load(held, [const(0, "int32")]), int(constant(held.shape[0]) or 0), call.span)


def matches_fence(call: TileCall, env: PassEnv) -> str | None:
    return None if is_fragment(call.buffer.source) else f"{call.buffer.source.name} is no fragment"


FENCE = TileOpImpl(FENCE_OPERAND.name, "settled registers", lower_fence, matches_fence, late=True)
