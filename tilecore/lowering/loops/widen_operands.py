"""Stores the tiles that a gemm multiplies in a wider type from the copy on, where it would convert each element every
time that it reads it.

Each element of A is read once for every 2 vectors of columns of C, and each of B once for every 14 rows. Narrow floats
become float32; integers of 8 bits become int16 where the target multiplies pairs of these (it has an implementation
named ``INT16_PAIRS``). All values of the narrow types are values of the wide ones, so results are the same.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.implementation import choose
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import dtype_of, seq, statements_of
from tilecore.ir.nodes import (
    AllocBuffer,
    Evaluate,
    PrimFunc,
    Stmt,
    Var,
    structural_map,
    tirx,
)
from tilecore.ir.tile_ops import as_tile_call
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis, rebuild_kernel
from tilecore.lowering.loops.gemm import REGISTER_TILES
from tilecore.lowering.loops.moved_tiles import in_buffer, moved_statement, with_moved_regions
from tilecore.lowering.loops.register_tiles import INT16_PAIRS
from tilecore.lowering.loops.tile_uses import KernelUses, Use, fills_operand, note_copy

SHORT = ("int8", "uint8")


def widen_operands(func: PrimFunc, env: PassEnv) -> PrimFunc:
    statements = []
    for statement in statements_of(func.body):
        copies = _copies_to_narrow_operands(statement, env) if is_axis(statement) else {}
        for copy, wide in copies.items():
            buffer = copy.call.dst.source  # type: ignore[union-attr]
            note_copy(
                env, copy, "widened", str(buffer.name), f"{buffer.name} is kept as {wide}, not as {dtype_of(buffer)}"
            )
        types = {copy.call.dst.source: wide for copy, wide in copies.items()}  # type: ignore[union-attr]
        statements.append(_widened(statement, types) if types else statement)
    return func.with_body(seq(statements))


def _copies_to_narrow_operands(kernel: Stmt, env: PassEnv) -> dict[Use, str]:
    """The copies that fill narrow operands of gemms, each with the type that the operand should have."""
    uses = KernelUses(axes_and_code(kernel)[1])
    copies: dict[Use, str] = {}
    for copy in uses.uses:
        if fills_operand(copy, uses):
            buffer = copy.call.dst.source  # type: ignore[union-attr]
            if dtype_of(copy.call.src.source) != dtype_of(buffer):  # type: ignore[union-attr]
                continue  # the copy rounds
            types = {_type_for(use.call, buffer, env) for use in uses.of(buffer) if use is not copy}
            wide = types.pop() if len(types) == 1 else None
            if wide is not None:
                copies[copy] = wide
    buffers = {copy.call.dst.source for copy in copies}  # type: ignore[union-attr]
    return {copy: wide for copy, wide in copies.items() if wide == "float32" or _is_of_pairs(copy, uses, buffers)}


def _type_for(call: Any, buffer: Var, env: PassEnv) -> str | None:
    """The type in which the gemm should get the operand; None: the one that it has."""
    kind, total = DType(dtype_of(buffer)), dtype_of(call.c.source)
    if kind.is_float and 8 <= kind.bits < 32 and total == "float32":
        return total if choose(call, env.implementations, env).impl is REGISTER_TILES else None
    if str(kind) in SHORT and total == "int32" and choose(call, env.implementations, env).impl is REGISTER_TILES:
        return "int16" if _would_be_pairs(call, env) else None
    return None


def _would_be_pairs(call: Any, env: PassEnv) -> bool:
    """Would the gemm be one of pairs if both operands were int16?"""
    wide = {region.source: in_buffer(_buffer_like(region.source, "int16")) for region in (call.a, call.b)}
    widened = as_tile_call(with_moved_regions(call, wide))
    return widened is not None and choose(widened, env.implementations, env).impl.name == INT16_PAIRS


def _is_of_pairs(copy: Use, uses: KernelUses, widened: set[Var]) -> bool:
    """Are both operands of all gemms that read the copy widened? One alone would gain nothing."""
    buffer = copy.call.dst.source  # type: ignore[union-attr]
    calls = [use.call for use in uses.of(buffer) if use is not copy]
    return all(region.source in widened for call in calls for region in (call.a, call.b))  # type: ignore[union-attr]


def _widened(kernel: Stmt, types: dict[Var, str]) -> Stmt:
    wide = {buffer: _buffer_like(buffer, kind) for buffer, kind in types.items()}
    moved = {buffer: in_buffer(other) for buffer, other in wide.items()}

    def change(node: Any) -> Any:
        if isinstance(node, AllocBuffer):
            return AllocBuffer(wide[node.buffer], span=node.span) if node.buffer in wide else node
        return moved_statement(node, moved)

    levels, code = axes_and_code(kernel)
    return rebuild_kernel(levels, structural_map(code, ((AllocBuffer, Evaluate), change)))


def _buffer_like(buffer: Var, kind: str) -> Var:
    return tirx.decl_buffer(list(buffer.shape), kind, str(buffer.name), scope=str(buffer.scope()), layout=None)


WIDEN_OPERANDS = Pass("widen_operands", widen_operands)
