"""Gives each warp the number of its warpgroup once, at the start of its code, in a form that is known to be uniform.

What is computed from it then stays in uniform registers, where descriptions of operands have to be.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.hopper.specialize_warps import ROLE
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import op_name, seq
from tilecore.ir.nodes import AttrStmt, Bind, Call, PrimFunc, Stmt, Var, structural_map, structural_mutate
from tilecore.ir.thread_ranges import has_ranges, range_of
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import Threads, each_kernel


def bind_warpgroup_index(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return func.with_body(each_kernel(func.body, _numbered))


def _numbered(body: Stmt, threads: Threads) -> Stmt:
    if not any(op_name(call) == instructions.UNIFORM for call in collect(body, Call)):
        return body
    if has_ranges(body):
        return _ranged(body)
    if not any(node.attr_key == ROLE for node in collect(body, AttrStmt)):
        return _defined(body)

    def role(node: AttrStmt, mutator: Any) -> Any:
        if node.attr_key != ROLE or str(node.value.value) != "consumer":
            return mutator.default_mutate(node)
        return AttrStmt(node.node, node.attr_key, node.value, _defined(node.body), span=node.span)

    return structural_mutate(body, [(AttrStmt, role)])


def _ranged(body: Stmt) -> Stmt:
    """Each range of threads counts its own."""

    def some(node: AttrStmt, mutator: Any) -> Any:
        made = mutator.default_mutate(node)
        is_asked = any(op_name(call) == instructions.UNIFORM for call in collect(made, Call))
        if range_of(node) is None or not is_asked:
            return made
        return AttrStmt(node.node, node.attr_key, node.value, _defined(made.body), span=node.span)

    return structural_mutate(body, [(AttrStmt, some)])


def _defined(body: Stmt) -> Stmt:
    group = Var("group", "int32")
    calls = [call for call in collect(body, Call) if op_name(call) == instructions.UNIFORM]
    made = structural_map(body, (Call, lambda call: group if op_name(call) == instructions.UNIFORM else call))
    return seq([Bind(group, calls[0]), made])


BIND_WARPGROUP_INDEX = Pass("bind_warpgroup_index", bind_warpgroup_index)
