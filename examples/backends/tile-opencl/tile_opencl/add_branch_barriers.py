"""Adds a barrier at the end of each branch that contains one: PoCL 3 miscompiles the code after such a branch.

All threads of the block take a branch that contains a barrier, so another barrier in it is allowed.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import op_name, seq, statements_of
from tilecore.ir.nodes import Evaluate, IfThenElse, PrimFunc, Stmt, structural_mutate
from tilecore.ir.visit import collect

BARRIER = "tile.sync_threads"


def add_branch_barriers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def branch(node: IfThenElse, mutator: Any) -> Stmt:
        mutated = mutator.default_mutate(node)
        other = None if mutated.else_case is None else _with_final_barrier(mutated.else_case)
        return IfThenElse(mutated.condition, _with_final_barrier(mutated.then_case), other, span=mutated.span)

    return func.with_body(structural_mutate(func.body, [(IfThenElse, branch)]))


def barriers(body: Stmt) -> list[Evaluate]:
    return [node for node in collect(body, Evaluate) if op_name(node.value) == BARRIER]


def _with_final_barrier(body: Stmt) -> Stmt:
    """One side of a branch; where it contains a barrier, it also ends with one."""
    inside = barriers(body)
    if not inside:
        return body
    last = statements_of(body)[-1]
    return body if isinstance(last, Evaluate) and last in inside else seq([body, inside[0]])


ADD_BRANCH_BARRIERS = Pass("add_branch_barriers", add_branch_barriers)
