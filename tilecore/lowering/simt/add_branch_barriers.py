"""Adds a barrier at the end of each branch that holds one, for compilers that miscompile the code behind such a branch.

Targets with such a compiler have the feature "closed_branches". All threads of the block take a branch that holds a
barrier, so another barrier in it is allowed.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import seq, statements_of
from tilecore.ir.nodes import IfThenElse, PrimFunc, Stmt, structural_mutate
from tilecore.lowering.simt.insert_barriers import collect_barriers, is_barrier

FEATURE = "closed_branches"


def add_branch_barriers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if FEATURE not in env.capabilities.features:
        return func

    def branch(node: IfThenElse, mutator: Any) -> Stmt:
        mutated = mutator.default_mutate(node)
        other = None if mutated.else_case is None else _with_final_barrier(mutated.else_case)
        return IfThenElse(mutated.condition, _with_final_barrier(mutated.then_case), other, span=mutated.span)

    return func.with_body(structural_mutate(func.body, [(IfThenElse, branch)]))


def _with_final_barrier(body: Stmt) -> Stmt:
    """One side of a branch, with a barrier at its end where it holds one."""
    barriers = collect_barriers(body)
    if not barriers:
        return body
    return body if is_barrier(statements_of(body)[-1]) else seq([body, barriers[0]])


ADD_BRANCH_BARRIERS = Pass("add_branch_barriers", add_branch_barriers)
