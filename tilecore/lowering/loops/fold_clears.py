"""Removes the fill of an accumulator with zeros where the first gemm can start from zero itself."""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import constant, nothing, seq, with_body
from tilecore.ir.nodes import (
    Break,
    Continue,
    Evaluate,
    For,
    ForKind,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    structural_map,
    tirx,
)
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, jumps_out, reads_variable
from tilecore.lowering.analysis.clears import cleared_buffer


def fold_clears(func: PrimFunc, env: PassEnv) -> PrimFunc:
    aliased = memory_roots(func.body)

    def fold(node: SeqStmt) -> Any:
        parts = list(node.seq)
        changed = False
        for fill_index, part in enumerate(parts):
            buffer = cleared_buffer(part)
            if buffer is None or is_global(buffer) or buffer in aliased:
                continue
            user_index = next((i for i in range(fill_index + 1, len(parts)) if reads_variable(parts[i], buffer)), None)
            if user_index is None or any(map(jumps_out, parts[fill_index + 1 : user_index])):
                continue
            folded = _starting_from_zero(parts[user_index], buffer)
            if folded is not None:
                parts[fill_index], parts[user_index], changed = nothing(), folded, True
        return seq(parts) if changed else node

    return func.with_body(structural_map(func.body, (SeqStmt, fold)))


def _starting_from_zero(statement: Stmt, buffer: Var) -> Stmt | None:
    """The statement with the gemm into ``buffer`` starting from zero; None if the statement is no gemm or loop of
    one."""
    call = added_product(statement, buffer)
    if call is not None:
        return with_clear(call, tirx.const(1, "bool"))
    if not isinstance(statement, For) or statement.kind != ForKind.SERIAL or collect(statement.body, Break, Continue):
        return None
    if constant(statement.min) is None or (constant(statement.extent) or 0) < 1:
        return None
    parts = list(statement.body.seq) if isinstance(statement.body, SeqStmt) else [statement.body]
    users = [i for i, part in enumerate(parts) if reads_variable(part, buffer)]
    call = added_product(parts[users[0]], buffer) if len(users) == 1 else None
    if call is None:
        return None
    parts[users[0]] = with_clear(call, tirx.EQ(statement.loop_var, statement.min))
    return with_body(statement, seq(parts))


def added_product(statement: Stmt, buffer: Var) -> TileCall | None:
    """A gemm that adds to the whole of ``buffer`` and reads it nowhere else."""
    call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
    if call is None or call.op.name != "gemm" or constant(call.clear_accum) != 0:
        return None
    if not call.c.source.same_as(buffer) or not is_whole(call.c):
        return None
    return None if reads_variable(call.a, buffer) or reads_variable(call.b, buffer) else call


def with_clear(call: TileCall, condition: Any) -> Stmt:
    """The gemm that starts from zero where the condition holds."""
    args = list(call.call.args)
    args[call.op.operand_names().index("clear_accum")] = condition
    return call.rebuilt(args)


FOLD_CLEARS = Pass("fold_clears", fold_clears)
