"""A barrier at the end of each branch that has one inside: for devices whose compiler runs what follows it wrongly.

They say so by the feature "closed_branches". The threads of a block take such a branch together, so one more barrier in
it is allowed.
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
        made = mutator.default_mutate(node)
        other = None if made.else_case is None else _closed(made.else_case)
        return IfThenElse(made.condition, _closed(made.then_case), other, span=made.span)

    return func.with_body(structural_mutate(func.body, [(IfThenElse, branch)]))


def _closed(body: Stmt) -> Stmt:
    barriers = collect_barriers(body)
    if not barriers:
        return body
    return body if is_barrier(statements_of(body)[-1]) else seq([body, barriers[0]])


ADD_BRANCH_BARRIERS = Pass("add_branch_barriers", add_branch_barriers)
