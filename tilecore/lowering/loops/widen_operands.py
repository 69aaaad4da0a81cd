"""Stores the tiles of narrow floats that a gemm multiplies as float32 from the copy on, where it would convert each
element every time that it reads it.

Each element of A is read once for every 2 vectors of columns of C, and each of B once for every 14 rows. All values of
the narrow types are float32 values, so results are the same.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.implementation import choose
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import dtype_of, seq, statements_of
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferRegion,
    Evaluate,
    PrimFunc,
    Stmt,
    TensorRegion,
    Var,
    structural_map,
    tirx,
)
from tilecore.ir.tile_ops import as_tile_call
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis, rebuild_kernel
from tilecore.lowering.loops.gemm import REGISTER_TILES
from tilecore.lowering.loops.tile_uses import KernelUses, Use, fills_operand, note_copy

WIDE = "float32"


def widen_operands(func: PrimFunc, env: PassEnv) -> PrimFunc:
    statements = []
    for statement in statements_of(func.body):
        copies = _copies_to_narrow_operands(statement, env) if is_axis(statement) else []
        buffers = [copy.call.dst.source for copy in copies]  # type: ignore[union-attr]
        for copy, buffer in zip(copies, buffers, strict=True):
            text = f"{buffer.name} is kept as {WIDE}, not as {dtype_of(buffer)}"
            note_copy(env, copy, "widened", str(buffer.name), text)
        statements.append(_widened(statement, buffers) if buffers else statement)
    return func.with_body(seq(statements))


def _copies_to_narrow_operands(kernel: Stmt, env: PassEnv) -> list[Use]:
    """The copies that fill buffers of narrow floats which only gemms read that accumulate in float32 by register
    tiles."""
    uses = KernelUses(axes_and_code(kernel)[1])
    copies = []
    for copy in uses.uses:
        if not fills_operand(copy, uses):
            continue
        buffer = copy.call.dst.source  # type: ignore[union-attr]
        kind = DType(dtype_of(buffer))
        if not kind.is_float or kind.bits >= DType(WIDE).bits or kind.bits < 8:
            continue
        calls = [use.call for use in uses.of(buffer) if use is not copy]
        if all(_multiplies_as_float32(call, env) for call in calls):
            copies.append(copy)
    return copies


def _multiplies_as_float32(call: Any, env: PassEnv) -> bool:
    return dtype_of(call.c.source) == WIDE and choose(call, env.implementations, env).impl is REGISTER_TILES


def _widened(kernel: Stmt, buffers: list[Var]) -> Stmt:
    wide = {
        buffer: tirx.decl_buffer(list(buffer.shape), WIDE, str(buffer.name), scope=str(buffer.scope()), layout=None)
        for buffer in buffers
    }

    def change(node: Any) -> Any:
        if isinstance(node, AllocBuffer):
            return AllocBuffer(wide[node.buffer], span=node.span) if node.buffer in wide else node
        call = as_tile_call(node)
        if call is None or not any(region.source in wide for region in call.regions):
            return node
        return call.rebuilt([_region(arg, wide) if isinstance(arg, TensorRegion) else arg for arg in call.call.args])

    levels, code = axes_and_code(kernel)
    return rebuild_kernel(levels, structural_map(code, ((AllocBuffer, Evaluate), change)))


def _region(region: TensorRegion, wide: dict[Var, Var]) -> TensorRegion:
    return BufferRegion(wide[region.source], region.region) if region.source in wide else region


WIDEN_OPERANDS = Pass("widen_operands", widen_operands)
