"""Emits T.gemm by matrix instructions: each warp computes its part of C, one step along K after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tilecore.contract.state import BufferLayouts
from tilecore.ir.build import const, load, loop, seq
from tilecore.ir.nodes import AllocBuffer, Expr, For, ForKind, Stmt, Var
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.matrix import word_loads
from tilecore.lowering.simt.matrix.config import MatrixConfig, reads_a_from_registers
from tilecore.lowering.simt.matrix.operands import Operand, operand_a, operand_b
from tilecore.lowering.simt.thread_env import ThreadEnv
from tilecore.lowering.simt.tile_ops.accumulators import Accumulator, is_whole_fragment


class MatrixGemm(ABC):
    """The statements of one gemm.

    register_sets: 2 where a pass of the backend loads the operands of the next step during a step.
    """

    register_sets = 1

    def __init__(self, call: TileCall, env: ThreadEnv, config: MatrixConfig) -> None:
        self.call, self.binding, self.config = call, env.binding, config
        instruction = config.instruction
        lanes = instruction.accumulator.threads
        warp, lane = self.binding.thread // lanes, self.binding.thread % lanes
        row = warp % config.along_m * (config.m_tiles * instruction.rows)
        column_warp = warp // config.along_m
        column = (column_warp % config.along_n if config.copies > 1 else column_warp) * (
            config.n_tiles * instruction.columns
        )
        layouts, sets = env.state(BufferLayouts).by_buffer, self.register_sets
        in_registers = reads_a_from_registers(call, config)
        self.a = None if in_registers else operand_a(call, config, lane, row, layouts.get(call.a.source), sets)
        self.b = operand_b(call, config, lane, column, layouts.get(call.b.source), sets)
        threads = self.binding.threads
        c_registers = self.binding.registers[call.c.source] if is_whole_fragment(call.c) else None
        self.accumulator = Accumulator(
            call, config.accumulator_layout(threads), self.binding.thread, c_registers, instruction.c
        )

    # -- what a backend overrides ---------------------------------------------------------------------------------

    @abstractmethod
    def multiply_add(self, c: Expr, a: Expr, b: Expr) -> Stmt:
        """The instruction. c, a, b: the first register of each fragment."""

    def load_operand(self, operand: Operand, step: Expr) -> Stmt:
        """Loads the registers of an operand for one step from shared memory."""
        return word_loads.loads(operand, step)

    def operand_loads(self, loads: Stmt) -> Stmt:
        """The loads of a step, with what marks them for a later pass."""
        return loads

    def steps(self) -> Stmt:
        """All steps: each loads its operands, and multiplies them."""
        step = Var("step", "int32")
        body = seq([self.load(step), self.multiply(step)])
        return For(step, const(0, "int32"), const(self.config.steps, "int32"), ForKind.UNROLLED, body)

    def whole(self, statements: Stmt) -> Stmt:
        """The gemm, with what marks it for a later pass."""
        return statements

    # -- the statements -------------------------------------------------------------------------------------------

    def run(self) -> Stmt:
        registers: list[Stmt] = [AllocBuffer(operand.registers) for operand in self._loaded()]
        return self.whole(seq([*self.accumulator.before(), *registers, self.steps(), *self.accumulator.after()]))

    def load(self, step: Expr) -> Stmt:
        """Loads the operands of a step."""
        return self.operand_loads(seq([self.load_operand(operand, step) for operand in self._loaded()]))

    def multiply(self, step: Expr) -> Stmt:
        """The instructions of a step."""
        registers_of_tile = self.config.instruction.accumulator.registers

        def multiply_tile(i: Any, j: Any) -> Stmt:
            c = load(self.accumulator.registers, [(i * self.config.n_tiles + j) * registers_of_tile])
            return self.multiply_add(c, self._register_of_a(step, i), self.b.register(step, j))

        def row(i: Any) -> Stmt:
            count = const(self.config.n_tiles, "int32")
            return loop(count, lambda j: multiply_tile(i, j), name="j", kind=ForKind.UNROLLED)

        return loop(const(self.config.m_tiles, "int32"), row, name="i", kind=ForKind.UNROLLED)

    def _loaded(self) -> list[Operand]:
        """The operands that are loaded from shared memory."""
        return [operand for operand in (self.a, self.b) if operand is not None]

    def _register_of_a(self, step: Expr, i: Any) -> Expr:
        if self.a is not None:
            return self.a.register(step, i)
        registers = self.binding.registers[self.call.a.source]
        return load(registers, [(i * self.config.steps + step) * self.config.instruction.operand_a.registers])
