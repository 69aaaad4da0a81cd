"""Implements T.gemm by ``mma.sync``.

It marks the loop over the steps and its parts by attributes. ``schedule_mma`` then chooses when the operands of each
step are loaded to registers: by ``ldmatrix`` where the tile allows it (matrix_loads.py), else word by word.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaStatementAttr
from tile_cuda.lowering import matrix_loads
from tile_cuda.lowering.mma_config import mma_config_of
from tile_cuda.lowering.swizzle import swizzled
from tile_cuda.target import architecture_of
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import const, dtype_of
from tilecore.ir.nodes import AttrStmt, Expr, IfThenElse, Stmt
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.matrix import word_loads
from tilecore.lowering.simt.matrix.config import MatrixConfig
from tilecore.lowering.simt.matrix.gemm import MatrixGemm
from tilecore.lowering.simt.matrix.implementation import matrix_implementation
from tilecore.lowering.simt.matrix.operands import Operand
from tilecore.lowering.simt.thread_env import ThreadEnv


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    """Layouts of the shared operands that avoid bank conflicts."""
    layouts_by_buffer = {}
    for region, along_k in ((call.a, not call.transpose_a), (call.b, bool(call.transpose_b))):
        bits = DType(dtype_of(region.source)).bits
        by_words = bits == 64 or (bits == 32 and not along_k)
        layout = None if is_fragment(region.source) else swizzled(region.source, by_words)
        if layout is not None:
            layouts_by_buffer[region.source] = layout
    return layouts_by_buffer


class _MmaGemm(MatrixGemm):
    register_sets = 2

    def __init__(self, call: TileCall, env: ThreadEnv, config: MatrixConfig) -> None:
        super().__init__(call, env, config)
        self.arch = architecture_of(env.target).capability

    def multiply_add(self, c: Expr, a: Expr, b: Expr) -> Stmt:
        return instructions.mma(self.config.instruction.name, c, a, b, self.call.span)

    def load_operand(self, operand: Operand, step: Expr) -> Stmt:
        if not matrix_loads.fits(operand, self.arch):
            return word_loads.loads(operand, step)
        by_matrices = matrix_loads.loads(operand, step)
        if not operand.k_overshoots:
            return by_matrices
        last = const(self.config.steps - 1, "int32")
        return IfThenElse(step < last, by_matrices, word_loads.loads(operand, step))

    def operand_loads(self, loads: Stmt) -> Stmt:
        return AttrStmt(const(0, "int32"), CudaStatementAttr.OPERANDS, const(1, "int32"), loads)

    def whole(self, statements: Stmt) -> Stmt:
        return AttrStmt(const(0, "int32"), CudaStatementAttr.GEMM, const(1, "int32"), statements, span=self.call.span)


MMA_SYNC = matrix_implementation("mma.sync", mma_config_of, _MmaGemm, layouts)
