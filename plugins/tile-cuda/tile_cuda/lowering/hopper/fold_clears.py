"""Folds T.clear into the matrix product after it, or the first of the loop after it, which overwrites its accumulator.

Otherwise the accumulator is written twice, and the compiler puts the zeros between the wgmma instructions.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from tile_cuda.lowering.hopper.wgmma_config import wgmma_config_of
from tilecore.contract.passes import PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, seq, statements_of, with_body
from tilecore.ir.nodes import EQ, AttrStmt, Evaluate, For, ForKind, IfThenElse, Stmt, Var
from tilecore.ir.regions import is_whole
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import jumps_out, variables
from tilecore.lowering.analysis.clears import cleared_buffer
from tilecore.lowering.simt.state import threads_of_call


def fold_clears(body: Stmt, env: PassEnv, analyzer: Analyzer, viewed: Set[Var]) -> Stmt:
    """The code of a kernel without the clears that a product can do.

    analyzer: has the ranges of the block indices. viewed: the kernel's fragments that have views, and the views; other
    statements may access their elements by another name.
    """
    return seq(_block(statements_of(body), env, analyzer, viewed))


def _block(statements: list[Stmt], env: PassEnv, analyzer: Analyzer, viewed: Set[Var]) -> list[Stmt]:
    changed = [_fold_inside(statement, env, analyzer, viewed) for statement in statements]
    for index, statement in enumerate(changed):
        accumulator = cleared_buffer(statement)
        if accumulator is None or accumulator in viewed:
            continue
        following = next((n for n in range(index + 1, len(changed)) if accumulator in variables(changed[n])), None)
        if following is None or any(map(jumps_out, changed[index + 1 : following])):
            continue
        folded: Stmt | None = product_with_clear(changed[following], accumulator, const(1, "int32"), env)
        if folded is None:
            loop = _loop_with_clear(changed[following], accumulator, env, analyzer)
            folded = None if loop is None else _clear_if_skipped(loop, statement, analyzer)
        if folded is not None:
            changed[following], changed[index] = folded, seq([])
    return changed


def _fold_inside(node: Stmt, env: PassEnv, analyzer: Analyzer, viewed: Set[Var]) -> Stmt:
    if isinstance(node, For) and node.kind == ForKind.SERIAL:
        return with_body(node, fold_clears(node.body, env, analyzer, viewed))
    if isinstance(node, AttrStmt):
        body = fold_clears(node.body, env, analyzer, viewed)
        return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span)
    if isinstance(node, IfThenElse):
        then_case = fold_clears(node.then_case, env, analyzer, viewed)
        else_case = None if node.else_case is None else fold_clears(node.else_case, env, analyzer, viewed)
        return IfThenElse(node.condition, then_case, else_case, span=node.span)
    return node


def _loop_with_clear(node: Stmt, accumulator: Var, env: PassEnv, analyzer: Analyzer) -> For | None:
    """The loop whose first product overwrites ``accumulator``; None where it does not begin with such a product."""
    if not isinstance(node, For) or node.kind != ForKind.SERIAL:
        return None
    steps = statements_of(node.body)
    first = next((n for n, step in enumerate(steps) if accumulator in variables(step)), None)
    call = as_tile_call(steps[first]) if first is not None and isinstance(steps[first], Evaluate) else None
    if first is None or call is None or not _adds_to(call, accumulator, env):
        return None
    if any(map(jumps_out, steps[:first])):  # the first iteration may have no product
        return None
    steps[first] = _clearing(call, EQ(node.loop_var, node.min.astype(dtype_of(node.loop_var))))
    return with_body(node, seq(steps))


def product_with_clear(node: Stmt, accumulator: Var, condition: Any, env: PassEnv) -> Evaluate | None:
    """The product, which overwrites ``accumulator`` under the condition; None where the statement is no product that
    adds to it."""
    call = as_tile_call(node) if isinstance(node, Evaluate) else None
    return _clearing(call, condition) if call is not None and _adds_to(call, accumulator, env) else None


def _clearing(call: TileCall, condition: Any) -> Evaluate:
    """The product that overwrites its accumulator under the condition."""
    args = list(call.call.args)
    args[call.op.operand_names().index("clear_accum")] = condition
    return call.rebuilt(args)


def _clear_if_skipped(folded: For, clear: Stmt, analyzer: Analyzer) -> Stmt:
    """The loop; where it may have no iterations, with the clear for that case."""
    runs = analyzer.simplify(folded.extent > 0)
    return folded if constant(runs) else IfThenElse(runs, folded, clear, span=folded.span)


def _adds_to(call: TileCall, accumulator: Var, env: PassEnv) -> bool:
    if call.op.name != "gemm" or constant(call.clear_accum) != 0 or not is_whole(call.c):
        return False
    others = (call.a.source, call.b.source)
    if not call.c.source.same_as(accumulator) or any(accumulator.same_as(other) for other in others):
        return False
    return not isinstance(wgmma_config_of(call, env, threads_of_call(call, env)), str)
