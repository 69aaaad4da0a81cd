"""Implements T.gemm by the matrix instructions of a wave: MFMA and WMMA."""

from __future__ import annotations

from typing import Any

from tile_hip import instructions
from tile_hip.lowering import across_loads
from tile_hip.lowering.matrix_config import matrix_config_of
from tile_hip.lowering.matrix_instructions import WaveInstruction
from tile_hip.lowering.swizzle import swizzled
from tile_hip.target import architecture_of
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import const, seq
from tilecore.ir.nodes import Expr, For, ForKind, Stmt, Var
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.matrix import word_loads
from tilecore.lowering.simt.matrix.config import MatrixConfig
from tilecore.lowering.simt.matrix.gemm import MatrixGemm
from tilecore.lowering.simt.matrix.implementation import matrix_implementation
from tilecore.lowering.simt.matrix.operands import Operand
from tilecore.lowering.simt.thread_env import ThreadEnv


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    """Layouts of the shared operands that avoid bank conflicts; operands stored by rows of K have none without one."""
    layouts_by_buffer = {}
    for region, along_k in ((call.a, not call.transpose_a), (call.b, bool(call.transpose_b))):
        if along_k and not is_fragment(region.source):
            layout = swizzled(region.source, architecture_of(env.target))
            if layout is not None:
                layouts_by_buffer[region.source] = layout
    return layouts_by_buffer


REGISTERS_FOR_PRODUCTS = 176  # the others of 256 are for addresses and for tiles that are prefetched


class _WaveGemm(MatrixGemm):
    """On RDNA the operands of a step are loaded during the step before, if there are registers for both. The compiler
    keeps that order: it would load those of many steps at once.
    """

    def __init__(self, call: TileCall, env: ThreadEnv, config: MatrixConfig) -> None:
        self.is_ordered = not architecture_of(env.target).is_cdna
        self.register_sets = 2 if self.is_ordered and _has_room(config) else 1
        super().__init__(call, env, config)

    @property
    def instruction(self) -> WaveInstruction:
        instruction = self.config.instruction
        assert isinstance(instruction, WaveInstruction)
        return instruction

    def multiply_add(self, c: Expr, a: Expr, b: Expr) -> Stmt:
        name, along_m, along_n = self.instruction.name, self.instruction.along_m, self.instruction.along_n
        return instructions.mma(name, along_m, along_n, c, a, b, self.call.span)

    def load_operand(self, operand: Operand, step: Expr) -> Stmt:
        count = self.instruction.along_m if operand.name == "a" else self.instruction.along_n
        if operand.along_k:
            return word_loads.loads(operand, step)
        return across_loads.loads(operand, step, count)

    def steps(self) -> Stmt:
        count = self.config.steps
        if not self.is_ordered or count == 1:
            return super().steps()
        step, zero, one = Var("step", "int32"), const(0, "int32"), const(1, "int32")
        if self.register_sets == 1:
            body = seq([self.load(step), self.multiply(step), instructions.scheduling_fence()])
            return For(step, zero, const(count, "int32"), ForKind.UNROLLED, body)
        body = seq([self.load(step + one), self.multiply(step), instructions.scheduling_fence()])
        most = For(step, zero, const(count - 1, "int32"), ForKind.UNROLLED, body)
        return seq([self.load(zero), most, self.multiply(const(count - 1, "int32"))])


def _has_room(config: MatrixConfig) -> bool:
    """Are there registers for the operands of two steps beside the sums, of the 256 that a wave may have?"""
    instruction = config.instruction
    sums = config.m_tiles * config.n_tiles * instruction.accumulator.registers
    bits = DType(instruction.a).bits
    each = config.m_tiles * instruction.operand_a.registers + config.n_tiles * instruction.operand_b.registers
    return sums + 2 * each * bits // 32 <= REGISTERS_FOR_PRODUCTS


MATRIX = matrix_implementation("matrix", matrix_config_of, _WaveGemm, layouts)
