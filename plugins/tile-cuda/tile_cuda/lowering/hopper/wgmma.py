"""Implements T.gemm by ``wgmma``: warpgroups of 128 threads multiply tiles in shared memory (A also in registers).

The instructions of a gemm run asynchronously, as one group. ``wait_wgmma`` inserts the waits where later statements
need the group to have ended. PTX ISA, "Asynchronous warpgroup level matrix multiply-accumulate".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaStatementAttr
from tile_cuda.lowering.hopper.column_blocks import CODES, PIECE
from tile_cuda.lowering.hopper.wgmma_config import GROUP, ROWS, WgmmaConfig, operand_blocks, wgmma_config_of
from tile_cuda.operations import FENCE_OPERAND, WGMMA_GEMM
from tilecore.contract.implementation import SHARED, TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import const, constant, load, seq
from tilecore.ir.nodes import AllocBuffer, AttrStmt, Bind, Expr, Stmt, TensorRegion, Var, tirx
from tilecore.ir.regions import element_indices
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall
from tilecore.ir.visit import collect
from tilecore.lowering.simt.state import ThreadCount, threads_of_call
from tilecore.lowering.simt.thread_env import ThreadEnv
from tilecore.lowering.simt.tile_ops.accumulators import Accumulator, is_whole_fragment

EXPLICIT_WAIT = 2  # its value where the kernel itself waits for the group


def issues_wgmma(body: Stmt) -> bool:
    """Whether a kernel's code issues wgmma groups."""
    return any(node.attr_key == CudaStatementAttr.WGMMA_GROUP for node in collect(body, AttrStmt))


def matches(call: TileCall, env: PassEnv) -> str | None:
    config = wgmma_config_of(call, env, threads_of_call(call, env))
    return config if isinstance(config, str) else None


def matches_explicit(call: TileCall, env: PassEnv) -> str | None:
    if not is_whole_fragment(call.c):
        return f"C is in {call.c.source.scope()} memory, not in a fragment of its own"
    return matches(call, env)


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    return {r.source: operand_blocks(r).layout for r in (call.a, call.b) if not is_fragment(r.source)}


def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
    p = wgmma_config_of(call, env, threads)
    assert isinstance(p, WgmmaConfig)
    layouts_by_buffer: dict[Any, Any] = {r.source: SHARED for r in (call.a, call.b, call.c) if is_fragment(r.source)}
    if is_whole_fragment(call.c):
        layouts_by_buffer[call.c.source] = p.layout_of_c()
    if is_whole_fragment(call.a) and not call.transpose_a and not call.a.source.same_as(call.c.source):
        layouts_by_buffer[call.a.source] = p.layout_of_a()
    return layouts_by_buffer


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    return _Lowering(call, env).run()


class _Lowering:
    def __init__(self, call: TileCall, env: ThreadEnv) -> None:
        self.call, self.binding = call, env.binding
        config = wgmma_config_of(call, env, self.binding.threads)
        assert isinstance(config, WgmmaConfig)
        self.p = p = config
        group = instructions.uniform(self.binding.thread // GROUP)
        self.row = group % p.along_m * (p.m_tiles * ROWS) if p.along_m > 1 else const(0, "int32")
        part_index = group // p.along_m if p.along_m > 1 else group
        self.column = part_index * (p.n_tiles * p.columns) if p.along_n > 1 else const(0, "int32")
        a_in_registers = is_whole_fragment(call.a) and not call.transpose_a
        self.a = None if a_in_registers else self._operand("a_tile", call.a, not call.transpose_a, self.row)
        self.b = self._operand("b_tile", call.b, bool(call.transpose_b), self.column)
        registers = self.binding.registers[call.c.source] if is_whole_fragment(call.c) else None
        self.accumulator = Accumulator(call, p.layout_of_c(), self.binding.thread, registers, p.shape.c)

    def _operand(self, name: str, region: TensorRegion, along_k: bool, across: Any) -> _SharedOperand:
        return _SharedOperand(name, region, along_k, across, self.p.shape.depth, self.call.span)

    def run(self) -> Stmt:
        before: list[Stmt] = [AllocBuffer(self.accumulator.registers)] if self.accumulator.is_temporary else []
        descriptors = [bind for operand in (self.a, self.b) if operand is not None for bind in operand.bind()]
        group = seq([instructions.warpgroup("begin"), *self._instructions(), instructions.warpgroup("commit")])
        nest = AttrStmt(
            const(0, "int32"), StatementAttr.NEST, const(1, "int32"), seq([*descriptors, group]), span=self.call.span
        )
        waits = EXPLICIT_WAIT if self.call.op.name == WGMMA_GEMM.name else 1
        marked = AttrStmt(
            const(0, "int32"), CudaStatementAttr.WGMMA_GROUP, const(waits, "int32"), nest, span=self.call.span
        )
        return seq([*before, marked, *self.accumulator.after()])  # no barrier is inserted inside of NEST

    def _instructions(self) -> list[Stmt]:
        p = self.p
        places = [(step, i, j) for step in range(p.steps) for i in range(p.m_tiles) for j in range(p.n_tiles)]
        return [self._instruction(*place) for place in places]

    def _instruction(self, step: int, i: int, j: int) -> Stmt:
        p, call = self.p, self.call
        accumulator = load(self.accumulator.registers, [const((i * p.n_tiles + j) * p.accumulator_registers, "int32")])
        b = self.b.at(step, j * p.columns)
        add, b_by_n = self._adds(step), not call.transpose_b
        if self.a is None:
            registers = self.binding.registers[call.a.source]
            a = load(registers, [const((i * p.steps + step) * p.shape.operand_a.registers, "int32")])
            return instructions.wgmma_rs(p.name, b_by_n, accumulator, a, b, add, span=call.span)
        a = self.a.at(step, i * ROWS)
        return instructions.wgmma(p.name, bool(call.transpose_a), b_by_n, accumulator, a, b, add, span=call.span)

    def _adds(self, step: int) -> Expr:
        """Whether the instruction adds to the accumulator; the first one does not where that starts from zero."""
        clear = 1 if self.accumulator.is_temporary else constant(self.call.clear_accum)
        if step > 0 or clear == 0:
            return const(1, "bool")
        return const(0, "bool") if clear else tirx.Not(self.call.clear_accum)


class _SharedOperand:
    """An operand in shared memory. It has one matrix descriptor, to which instructions add an offset in 16-byte pieces.

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
        return [
            Bind(
                self.var,
                instructions.matrix_descriptor(element, leading, 8 * self.blocks.span, CODES[self.blocks.span]),
            )
        ]

    def at(self, step: int, across: int) -> Expr:
        """The descriptor of an instruction's part: step ``step`` along K, ``across`` elements further along M or N."""
        row, column = (across, step * self.depth) if self.along_k else (step * self.depth, across)
        blocks = self.blocks
        inside = column % blocks.columns * blocks.span // blocks.columns
        offset = column // blocks.columns * blocks.bytes + row * blocks.span + inside
        return instructions.descriptor_at(self.var, offset // PIECE)


WGMMA = TileOpImpl(
    "gemm",
    "wgmma",
    lower,
    matches,
    priority=30,
    late=True,
    needs_layouts=True,
    layouts=layouts,
    fragments=fragments,
    needs=(ThreadCount,),
)
EXPLICIT_WGMMA = replace(WGMMA, op=WGMMA_GEMM.name, matches=matches_explicit)


def lower_fence(call: TileCall, env: ThreadEnv) -> Stmt:
    registers = env.binding.registers[call.buffer.source]
    return instructions.register_fence(
        load(registers, [const(0, "int32")]), int(constant(registers.shape[0]) or 0), call.span
    )


def matches_fence(call: TileCall, env: PassEnv) -> str | None:
    return None if is_fragment(call.buffer.source) else f"{call.buffer.source.name} is not a fragment"


FENCE = TileOpImpl(FENCE_OPERAND.name, "register fence", lower_fence, matches_fence, late=True)
