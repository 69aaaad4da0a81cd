"""Implements T.gemm by simdgroup matrices of 8 x 8, and by matmul2d where the configuration asks for it.

Each simdgroup has a part of C in registers. A step multiplies 8 or 16 columns of A by as many rows of B. Lanes load
their neighbouring elements of each operand by hand rather than by ``simdgroup_load``, which has no swizzled tiles, no
zeros past the end of a tile, and no other element type than the product's. Products convert the elements.
"""

from __future__ import annotations

from typing import Any

from tile_metal import instructions
from tile_metal.lowering import operand_loads
from tile_metal.lowering.matmul2d import Matmul2dInstruction
from tile_metal.lowering.matrix_config import matrix_config_of
from tile_metal.lowering.matrix_instruction import SimdgroupInstruction
from tile_metal.lowering.shared_layouts import arranged
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import const, load, loop, seq
from tilecore.ir.nodes import Bind, Expr, For, ForKind, Stmt, Var, tirx
from tilecore.ir.scopes import is_shared
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.matrix.config import MatrixConfig
from tilecore.lowering.simt.matrix.gemm import MatrixGemm
from tilecore.lowering.simt.matrix.implementation import matrix_implementation
from tilecore.lowering.simt.matrix.operands import Operand
from tilecore.lowering.simt.state import threads_of_call


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    """Layouts of the shared operands of which lanes load without bank conflicts."""
    config = matrix_config_of(call, env, threads_of_call(call, env))
    assert isinstance(config, MatrixConfig)
    instruction, layouts_by_buffer = config.instruction, {}
    fragment_of_b = instruction.operand_b.project([1, 0])
    for region, fragment, along_k in (
        (call.a, instruction.operand_a, not call.transpose_a),
        (call.b, fragment_of_b, bool(call.transpose_b)),
    ):
        if is_shared(region.source):
            layout = arranged(region.source, fragment, along_k)
            if layout is not None:
                layouts_by_buffer[region.source] = layout
    return layouts_by_buffer


class _SimdgroupGemm(MatrixGemm):
    """The products of a row of tiles run forwards and backwards in turn, so that each takes an operand of the one
    before."""

    def multiply_add(self, c: Expr, a: Expr, b: Expr) -> Stmt:
        instruction, span = self.config.instruction, self.call.span
        if isinstance(instruction, Matmul2dInstruction):
            transposed = instruction.transposed_a, instruction.transposed_b
            return instructions.matmul2d(instruction.factor, transposed, c, a, b, span)
        assert isinstance(instruction, SimdgroupInstruction)
        return instructions.multiply_add(instruction.factor, instruction.products, instruction.b_along_k, c, a, b, span)

    def load_operand(self, operand: Operand, step: Expr) -> Stmt:
        """Loads neighbours along K of A, neighbours across K of an operand that is stored by rows of K."""
        return operand_loads.loads(operand, step)

    def steps(self) -> Stmt:
        """All steps. The compiler would load the operands of many steps at once from threadgroup memory; fences keep
        the order. Device memory takes longer, and its loads may run ahead."""
        step, count = Var("step", "int32"), self.config.steps
        staged = any(is_shared(operand.region.source) for operand in self._loaded())
        fence = [instructions.scheduling_fence()] if count > 1 and staged else []
        body = seq([*fence, self.load(step), self.multiply(step)])
        return For(step, const(0, "int32"), const(count, "int32"), ForKind.UNROLLED, body)

    def multiply(self, step: Expr) -> Stmt:
        """The products of a step, in serpentine order."""
        each, columns = self.config.instruction.accumulator.registers, self.config.n_tiles
        count = const(columns, "int32")

        def row(i: Any) -> Stmt:
            def product(j: Any) -> Stmt:
                c = load(self.accumulator.registers, [(i * columns + j) * each])
                return self.multiply_add(c, self._register_of_a(step, i), self.b.register(step, j))

            def in_turn(place: Any) -> Stmt:
                j = Var("j", "int32")
                return seq([Bind(j, tirx.Select(i % 2 == 0, place, columns - 1 - place)), product(j)])

            if columns == 1 or self.config.m_tiles == 1:
                return loop(count, product, name="j", kind=ForKind.UNROLLED)
            return loop(count, in_turn, name="place", kind=ForKind.UNROLLED)

        return loop(const(self.config.m_tiles, "int32"), row, name="i", kind=ForKind.UNROLLED)


MATRIX = matrix_implementation("matrix", matrix_config_of, _SimdgroupGemm, layouts, reads_global=True)
